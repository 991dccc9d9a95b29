// Goes on from the old address of a page to the new one, and takes the fragment along:
// to the place that the table of moves names for it, or to the same label over there.
(() => {
  const link = document.getElementById("moved-to");
  const label = decodeURIComponent(location.hash.slice(1));
  const sections = JSON.parse(link.dataset.sections);
  const to = Object.hasOwn(sections, label) ? sections[label] : null;
  const page = link.getAttribute("href");
  location.replace(to ?? (label ? page.replace(/#.*/, "") + location.hash : page));
})();
