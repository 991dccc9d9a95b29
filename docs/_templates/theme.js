(() => {
  const { dataset } = document.documentElement;
  let mode;
  try {
    mode = localStorage.getItem("mode");
  } catch {
    /* not allowed to remember */
  }
  dataset.mode = mode = ["light", "dark"].includes(mode) ? mode : "auto";
  const dark = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  dataset.theme = mode === "auto" ? dark : mode;
})();
