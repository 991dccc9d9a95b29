// At each heading a small menu: copy the link, copy it as Markdown, report a problem.
// The plain link ("#") is in the page; without this script it stands alone.
(() => {
  const canonical = document.querySelector("link[rel=canonical]");
  const repository = document.querySelector("meta[name='book:repository']");
  const book = document.querySelector("meta[name='book:title']").content;
  const page = canonical ? canonical.href : location.href.replace(/[?#].*/, "");
  const ran = document.querySelector(".what-ran");

  const said = document.createElement("div"); // read aloud, and seen for a moment
  said.className = "section-said";
  said.setAttribute("role", "status");
  document.body.append(said);

  const copy = async (text) => {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(text);
      return;
    }
    // A page that came over plain HTTP has no clipboard of that kind.
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    if (!done) throw new Error("no clipboard");
  };

  const tell = (text) => {
    said.textContent = text;
    clearTimeout(tell.timer);
    tell.timer = setTimeout(() => (said.textContent = ""), 4000);
  };

  const report = (title, address) => {
    const asked = new URLSearchParams({
      template: "section.yml",
      title: `${title}: `,
      section: address,
      versions: ran ? ran.textContent.replace(/\s+/g, " ").trim() : "",
    });
    return `${repository.content}/issues/new?${asked}`;
  };

  const button = (text, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", act);
    return made;
  };

  for (const link of document.querySelectorAll("article :is(h1, h2, h3, h4) > .headerlink")) {
    const heading = link.parentElement;
    const words = heading.cloneNode(true);
    words.querySelector(".headerlink").remove();
    const title = words.textContent.trim();
    const address = page + link.getAttribute("href");

    const menu = document.createElement("details");
    menu.className = "section-menu d-print-none";
    const summary = document.createElement("summary");
    summary.textContent = "⋯";
    summary.setAttribute("aria-label", `Link to “${title}”`);
    const list = document.createElement("div");
    const close = () => {
      menu.open = false;
      summary.focus();
    };
    const copied = (text, what) => async () => {
      try {
        await copy(text);
        tell(`${what} copied`);
      } catch {
        tell(text); // to be copied by hand
      }
      close();
    };
    list.append(
      button("Copy link", copied(address, "Link")),
      button("Copy as Markdown", copied(`[${title.replace(/[[\]\\]/g, "\\$&")} — ${book}](${address})`, "Markdown")),
    );
    if (repository) {
      const problem = document.createElement("a");
      problem.href = report(title, address);
      problem.rel = "noopener";
      problem.textContent = "Report a problem with this section";
      list.append(problem);
    }
    menu.append(summary, list);
    menu.addEventListener("keydown", (event) => {
      if (event.key === "Escape") close();
    });
    // Behind the heading, not in it: its words are the heading's alone.
    heading.after(menu);
  }

  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll(".section-menu[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });
})();
