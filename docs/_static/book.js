/* What pages do beyond being read: colours, side bars, search, contents, printing.
   Everything can be read, opened and reached without. */
{
  const page = document.documentElement;
  const find = (selector) => document.querySelector(selector);
  const findAll = (selector) => [...document.querySelectorAll(selector)];

  // --- light, dark, or as the system has it; theme.js does so before the first paint -

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const choices = findAll("button[data-mode]");

  function colour(mode) {
    page.dataset.mode = mode;
    page.dataset.theme = mode === "auto" ? (dark.matches ? "dark" : "light") : mode;
    for (const choice of choices)
      choice.setAttribute("aria-pressed", choice.dataset.mode === mode);
  }
  colour(page.dataset.mode);
  dark.addEventListener("change", () => colour(page.dataset.mode));
  for (const choice of choices)
    choice.addEventListener("click", () => {
      colour(choice.dataset.mode);
      try {
        localStorage.setItem("mode", choice.dataset.mode);
      } catch {
        // A browser that may not remember shows it until the next page.
      }
    });

  // --- menus close behind a choice, a click elsewhere, or Escape ---------------------

  const menus = findAll("details.dropdown");
  addEventListener("click", ({ target }) => {
    for (const menu of menus)
      if (!target.closest("summary") || !menu.contains(target)) menu.open = false;
  });
  addEventListener("keydown", ({ key }) => {
    const open = menus.find((menu) => menu.open);
    if (key !== "Escape" || !open) return;
    open.open = false;
    open.querySelector("summary").focus();
  });

  // --- side bars: popovers on narrow screens, columns on wide ones -------------------

  const chapters = find("#site-menu");
  const contents = find("#page-menu");
  const columns = {
    chapters: matchMedia("(min-width: 992px)"),
    contents: matchMedia("(min-width: 1200px)"),
  };
  const close = (menu) => menu?.matches(":popover-open") && menu.hidePopover();
  columns.chapters.addEventListener("change", () => close(chapters));
  columns.contents.addEventListener("change", () => close(contents));
  contents?.addEventListener("click", ({ target }) => {
    if (target.closest("a")) close(contents);
  });
  // Sphinx takes the key for hiding the words that were searched for.
  addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Escape" || !find(":popover-open")) return;
      event.stopImmediatePropagation();
      find(":popover-open").hidePopover();
    },
    true,
  );
  find(".primary-toggle")?.addEventListener("click", (event) => {
    if (!columns.chapters.matches) return;
    event.preventDefault(); // the column goes away, and no popover comes
    page.classList.toggle("without-chapters");
  });

  // The chapter that is open stands in sight.
  const here = chapters?.querySelector(".current.active > a");
  if (here && columns.chapters.matches) {
    const below = here.getBoundingClientRect().bottom - chapters.clientHeight;
    if (below > 0) chapters.scrollTop = below + chapters.clientHeight / 2;
  }

  // --- Ctrl+K, or ⌘K, goes to the search field ---------------------------------------

  const apple = /Mac|iPhone|iPad/.test(navigator.platform);
  if (apple)
    for (const key of findAll(".search-keys kbd:first-child")) key.textContent = "⌘";
  addEventListener("keydown", (event) => {
    const wanted = apple ? event.metaKey : event.ctrlKey;
    if (!wanted || event.shiftKey || event.altKey || event.key.toLowerCase() !== "k")
      return;
    const field = find("main .bd-search input") ?? find(".bd-search input");
    if (!field) return;
    event.preventDefault();
    if (chapters?.contains(field)) {
      page.classList.remove("without-chapters");
      if (!columns.chapters.matches) chapters.showPopover();
    }
    field.focus();
    field.select();
  });

  // Sphinx offers to hide the words that were searched for with a link of code, which
  // the policy of the page refuses.
  const hide = find("#searchbox .highlight-link a");
  if (hide) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "btn btn-sm";
    button.textContent = hide.textContent;
    button.addEventListener("click", SphinxHighlight.hideSearchWords);
    hide.replaceWith(button);
  }

  // --- the section that is read is marked in the contents ----------------------------

  const links = findAll("#page-menu a[href^='#']").filter(
    (link) => link.hash.length > 1,
  );
  const sections = links.map((link) => document.getElementById(link.hash.slice(1)));
  let waiting = false;

  function follow() {
    waiting = false;
    document.body.classList.toggle("scrolled", scrollY > 0);
    // A section is read when it has come to the upper third. On the last screen that
    // line moves down, since short sections at the end come no higher.
    const left = page.scrollHeight - innerHeight - scrollY;
    const line = innerHeight * (1 - 0.7 * Math.min(1, left / innerHeight));
    const reached = sections.findLastIndex(
      (section) => section?.getBoundingClientRect().top < line,
    );
    links.forEach((link, at) => {
      link.classList.toggle("active", at === reached);
      if (at === reached) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
  }
  addEventListener(
    "scroll",
    () => {
      if (!waiting) requestAnimationFrame(follow);
      waiting = true;
    },
    { passive: true },
  );

  // --- what scrolls can be reached by keyboard ---------------------------------------

  function reach() {
    const blocks = findAll("main pre, main .pst-scrollable-table-container");
    const scrolls = blocks.map(
      (block) =>
        block.scrollWidth > block.clientWidth ||
        block.scrollHeight > block.clientHeight,
    );
    blocks.forEach((block, at) => {
      if (!scrolls[at]) {
        for (const name of ["tabindex", "role", "aria-label"])
          block.removeAttribute(name);
        return;
      }
      const what = block.matches("pre")
        ? block.closest(".cell_output")
          ? "Output"
          : "Code"
        : "Table";
      block.tabIndex = 0;
      block.setAttribute("role", "group");
      block.setAttribute("aria-label", `${what} that scrolls`);
    });
  }
  let later;
  const soon = () => {
    clearTimeout(later);
    later = setTimeout(reach, 200);
  };
  addEventListener("resize", soon);
  for (const details of findAll("main details"))
    details.addEventListener("toggle", soon);
  // Behind the first paint: both ask where things stand.
  requestAnimationFrame(() =>
    setTimeout(() => {
      follow();
      reach();
    }),
  );

  // --- paper is white, and nothing on it can be unfolded -----------------------------

  let folded = [];
  addEventListener("beforeprint", () => {
    folded = findAll("main details:not([open])");
    for (const details of folded) details.open = true;
    page.dataset.theme = "light";
  });
  addEventListener("afterprint", () => {
    for (const details of folded) details.open = false;
    colour(page.dataset.mode);
  });
}
