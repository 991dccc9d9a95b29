// The search: ranks the sections of the book by what was asked.
//
// MiniSearch ranks words. Before that come those which have just what was asked: a message
// that the section explains, a name, or the words as they stand there, signs included,
// since `Float["*b n c"]` is more than the words in it.
globalThis.bookSearch = (() => {
  const { sections } = globalThis.bookSections;
  const OPENING = 160; // characters
  const squeeze = (text) => text.toLowerCase().replace(/\s+/g, " ").trim();

  // Names stay whole, and count by their parts too: kd.train.Trainer, kd, train, Trainer.
  const tokenize = (text) => {
    const found = [];
    for (const [whole] of text.matchAll(/[\p{L}\p{N}_]+(?:\.[\p{L}\p{N}_]+)*/gu)) {
      found.push(whole);
      if (whole.includes(".")) found.push(...whole.split("."));
    }
    return found;
  };

  // Enough of English for the words of this book; what is asked goes the same way.
  const common = new Set(
    "a an and are as at be by can do does for from how i in is it its my of on or that the this to what when with why".split(" "),
  );
  const stem = (word) => {
    if (/[._]/.test(word) || word.length < 5) return word;
    return word
      .replace(/(?:ies)$/, "y")
      .replace(/(?:ing|ed|es|s|e)$/, "")
      .replace(/([^aeiouls])\1$/, "$1");
  };
  const processTerm = (term) => {
    const low = term.toLowerCase();
    return common.has(low) ? null : stem(low);
  };

  const index = new MiniSearch({
    fields: ["title", "names", "answers", "label", "chapter", "text", "code"],
    tokenize,
    processTerm,
    searchOptions: {
      boost: { title: 4, answers: 3, names: 3, label: 2, chapter: 2, text: 1.5 },
      prefix: (term, at, terms) => at === terms.length - 1 && term.length > 3,
      fuzzy: (term) => (term.length > 5 && !/[._]/.test(term) ? 0.15 : 0),
    },
  });
  index.addAll(
    sections.map((section, id) => ({
      id,
      ...section,
      names: section.names.join(" "),
      answers: section.answers.join(" "),
      label: section.label.replaceAll("-", " "),
    })),
  );

  const plain = sections.map((section) => ({
    title: squeeze(section.title),
    names: section.names.map((name) => `.${name.toLowerCase()}`),
    answers: squeeze(section.answers.join(" ")),
    code: squeeze(section.code),
    text: squeeze(section.text),
  }));

  // What a section gains by having just what was asked.
  const exact = (asked, id) => {
    const has = plain[id];
    let gain = 0;
    if (has.title.includes(asked)) gain += 60;
    if (has.answers.includes(asked)) gain += 60;
    if (has.names.some((name) => name.endsWith(`.${asked}`))) gain += 40;
    if (has.code.includes(asked)) gain += 25;
    const at = has.text.indexOf(asked);
    if (at >= 0) gain += at < OPENING ? 40 : 25; // what a section begins with, it is about
    return gain;
  };

  // Returns the sections that fit, the best first.
  return (question) => {
    const asked = squeeze(question);
    if (!asked) return [];
    const scores = new Map();
    const add = (id, points) => scores.set(id, (scores.get(id) ?? 0) + points);
    const all = new Set(index.search(question, { combineWith: "AND" }).map(({ id }) => id));
    for (const { id, score } of index.search(question)) {
      add(id, all.has(id) ? score * 1.5 : score);
    }
    for (let id = 0; id < sections.length; id += 1) {
      const gain = asked.length > 2 ? exact(asked, id) : 0;
      if (gain) add(id, gain);
    }
    const answered = globalThis.bookMatching.best(question, sections);
    for (const { id, matched } of answered) add(id, 100 + matched);
    for (const [id, points] of scores) {
      const { title, answers } = sections[id];
      // "Next" and "Carry away" repeat what other sections say. A section about a message
      // is for those who ask for the message; others explain the words in it.
      const repeats = /^(Next|Carry away)$/.test(title);
      const other =
        answers.length &&
        !plain[id].answers.includes(asked) &&
        !answered.some((one) => one.id === id);
      if (repeats || other) scores.set(id, points / 2);
    }
    return [...scores]
      .sort(([a, x], [b, y]) => y - x || a - b)
      .map(([id]) => sections[id]);
  };
})();

(() => {
  const field = document.getElementById("search-question");
  const said = document.getElementById("search-said");
  const list = document.getElementById("search-results");
  if (!list) return;
  const SHOWN = 20;

  // A piece of the section around the first of the words asked for.
  const piece = (section, question) => {
    const words = question.toLowerCase().match(/[\p{L}\p{N}_.]{3,}/gu) ?? [];
    const text = section.text || section.code.replace(/\s+/g, " ");
    const places = words.map((word) => text.toLowerCase().indexOf(word)).filter((at) => at >= 0);
    const from = places.length ? Math.max(0, Math.min(...places) - 60) : 0;
    const start = from ? text.indexOf(" ", from) + 1 : 0;
    const cut = text.slice(start, start + 180);
    return (start ? "… " : "") + cut + (start + 180 < text.length ? " …" : "");
  };

  const item = (section, question) => {
    const made = document.createElement("li");
    const link = document.createElement("a");
    link.href = `${section.page}.html${section.label === section.page ? "" : `#${section.label}`}`;
    link.textContent = section.title;
    made.append(link);
    if (section.title !== section.chapter) {
      const chapter = document.createElement("span");
      chapter.className = "search-chapter";
      chapter.textContent = ` in ${section.chapter}`;
      made.append(chapter);
    }
    const words = document.createElement("p");
    words.textContent = piece(section, question);
    made.append(words);
    return made;
  };

  const show = () => {
    const question = field.value;
    const found = question.trim() ? globalThis.bookSearch(question) : [];
    list.replaceChildren(...found.slice(0, SHOWN).map((section) => item(section, question)));
    const more = found.length > SHOWN ? `, the first ${SHOWN} of them here` : "";
    if (!question.trim()) said.textContent = "";
    else if (!found.length) said.textContent = "No section has that. Try fewer words, or a piece of the message.";
    else said.textContent = `${found.length} section${found.length > 1 ? "s" : ""}${more}`;
  };

  field.value = new URLSearchParams(location.search).get("q") ?? "";
  field.addEventListener("input", show);
  document.getElementById("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    history.replaceState(null, "", `?${new URLSearchParams({ q: field.value })}`);
    show();
  });
  show();
  field.focus();
})();
