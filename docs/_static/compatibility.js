/* Says how old a measurement is, on the day on which it is read: a build must not
   depend on its day. Without this the dates stand there all the same. And unfolds what
   a link leads to. */
{
  const OLD = 60; // days
  const dates = [...document.querySelectorAll(".measured")];
  const days = ({ textContent }) =>
    Math.floor((Date.now() - Date.parse(textContent)) / 86_400_000);

  for (const date of dates)
    if (days(date) > OLD) date.after(` (${days(date)} days ago)`);

  const [newest] = dates;
  if (newest && days(newest) > OLD) {
    const warning = document.createElement("p");
    warning.className = "measured-long-ago";
    warning.setAttribute("role", "note");
    warning.textContent =
      `These results are ${days(newest)} days old. ` +
      "Releases since then may work together otherwise.";
    newest.closest("p").after(warning);
  }

  const unfold = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target?.matches("details")) target.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();
}
