(async () => {
  // What the address may have meant is a first guess of what to search for.
  const parts = location.pathname.split("/").slice(1);
  const missing = decodeURIComponent(parts.pop()).replace(/\.html?$/, "");
  const field = document.querySelector("input[name=q]");
  field.value = missing === "404" ? "" : missing.replace(/[-_]+/g, " ");

  // The book is in one of the folders above: where its style sheet is.
  for (; ; parts.pop()) {
    const root = ["", ...parts, ""].join("/");
    const answer = await fetch(`${root}_static/site.css`, { method: "HEAD" });
    const kind = answer.headers.get("Content-Type") ?? "";
    if (answer.ok && kind.startsWith("text/css")) {
      for (const link of document.querySelectorAll("main a"))
        link.href = root + link.getAttribute("href").split("/").pop();
      field.form.action = `${root}search.html`;
      return;
    }
    if (!parts.length) return;
  }
})();
