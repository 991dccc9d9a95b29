// The field into which a traceback is pasted. What is pasted stays in the browser: the
// messages are compared here, with those that sections.js lists.
(() => {
  const box = document.querySelector(".find-by-message");
  const field = box.querySelector("textarea");
  const said = box.querySelector("[role=status]");
  const list = box.querySelector("ol");

  // The index of the book is large, so it comes when it is needed.
  let index;
  const load = (file) =>
    new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = file;
      script.addEventListener("load", done);
      script.addEventListener("error", failed);
      document.head.append(script);
    });
  const ready = () => {
    index ??= Promise.all([load("sections.js"), load("_static/matching.js")]);
    return index;
  };

  const item = (section, pattern) => {
    const link = document.createElement("a");
    link.href = `${section.page}.html#${section.label}`;
    link.textContent = section.title;
    const message = document.createElement("code");
    message.textContent = pattern;
    const made = document.createElement("li");
    made.append(link, document.createElement("br"), message);
    return made;
  };

  const show = async () => {
    await ready();
    const { sections } = globalThis.bookSections;
    const text = field.value;
    const found = globalThis.bookMatching.best(text, sections);
    list.replaceChildren(...found.slice(0, 5).map(({ id, pattern }) => item(sections[id], pattern)));
    if (!text.trim()) said.textContent = "";
    else if (found.length) said.textContent = found.length > 1 ? "The best fit comes first." : "";
    else said.textContent = "No message of this book stands there. Try the search, with a piece of it.";
  };

  field.addEventListener("focus", ready, { once: true });
  field.addEventListener("input", show);
  if (field.value) show(); // kept by the browser from before
})();
