// Finds the sections that answer a message, in a pasted traceback or a piece of one.
// The rule is that of book/answers.py, where it is written down; a test holds the two
// to each other.
globalThis.bookMatching = (() => {
  const GAP = 300;

  const plain = (text) =>
    text
      .replace(/\x1b\[[0-9;]*m/g, "")
      .replace(/\\(?=['"])|\\[nt]/g, "")
      .replace(/[ \t\n\r\f\v\u00a0]+/g, "");

  const pieces = (pattern) => plain(pattern).replace(/^…+|…+$/g, "").split("…");
  const length = (text) => [...text].length; // in code points
  const escape = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

  // How many characters of its own a pattern has, and where it stands last; or null.
  const find = (pattern, text) => {
    const own = pieces(pattern);
    const matched = own.reduce((sum, piece) => sum + length(piece), 0);
    if (!matched) return null;
    const wanted = new RegExp(own.map(escape).join(`.{0,${GAP}}?`), "gsu");
    let last = -1;
    for (const match of text.matchAll(wanted)) last = match.index;
    return last < 0 ? null : { matched, last };
  };

  // The sections that answer, the best first: as {id, matched, pattern}, where id is the
  // place of the section in the list.
  const best = (text, sections) => {
    const within = plain(text);
    const found = [];
    sections.forEach(({ answers }, id) => {
      for (const pattern of answers) {
        const at = find(pattern, within);
        if (at) found.push({ id, pattern, ...at });
      }
    });
    found.sort((a, b) => b.matched - a.matched || b.last - a.last);
    const seen = new Set();
    return found.filter(({ id }) => !seen.has(id) && seen.add(id));
  };

  return { best };
})();
