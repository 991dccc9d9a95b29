"""Measures what a page costs its readers: ``make audit``.

Each page is opened in Chromium, from a server that compresses: with an empty cache,
then with the cache of somebody who comes from another page, and once as on a slow
telephone. What is sent is the same on every machine, and a test holds it; times are
recorded for people to read.

Where there is npm, Lighthouse gives its marks too, and the Nu checker reads the markup,
if there is Java. No test and no build needs either.
"""

import argparse
import datetime
import json
import os
import pathlib
import shutil
import statistics
import subprocess
from collections.abc import Iterator

from book.cells import ROOT

RECORD = ROOT / "snippets" / "recorded" / "weight.json"
HTML = ROOT / "_build" / "html"

# Lighthouse's telephone: its screen, a slow 4G, a quarter of the processor.
SCREEN = {"viewport": {"width": 412, "height": 823}, "device_scale_factor": 1.75}
NETWORK = {
    "offline": False,
    "latency": 562.5,
    "downloadThroughput": 1474.56 * 1024 / 8,
    "uploadThroughput": 675 * 1024 / 8,
}
SLOWER = 4

# Runs in the page before anything else does.
WATCH = """
window.watched = { shift: 0, paint: 0, blocking: 0 };
new PerformanceObserver((list) => {
  for (const entry of list.getEntries())
    if (!entry.hadRecentInput) watched.shift += entry.value;
}).observe({ type: "layout-shift", buffered: true });
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) watched.paint = entry.startTime;
}).observe({ type: "largest-contentful-paint", buffered: true });
new PerformanceObserver((list) => {
  for (const entry of list.getEntries())
    watched.blocking += Math.max(0, entry.duration - 50);
}).observe({ type: "longtask", buffered: true });
"""


def pages(folder: pathlib.Path) -> list[str]:
    """Return the names of the pages that were built, the search page among them."""
    return sorted({path.stem for path in folder.glob("*.html")} - {"404"})


def cost(asked: list[tuple[str, int]]) -> dict[str, int]:
    """Return bytes and number of requests.

    >>> cost([("/index.html", 5000), ("/_static/site.css", 9000)])
    {'bytes': 14000, 'requests': 2}
    """
    return {"bytes": sum(size for _, size in asked), "requests": len(asked)}


def open_page(browser, site, page: str, coming_from: str | None = None) -> dict:
    """Open a page as a reader does, and return what was sent for it.

    Args:
      browser: a browser of Playwright.
      site: a `book.chromium.Site` that is being served.
      page: its name.
      coming_from: the page whose files are in the reader's cache, if any.
    """
    with browser.new_context() as context:
        tab = context.new_page()
        for name in filter(None, (coming_from, page)):
            site.asked.clear()
            tab.goto(f"{site.address}/{name}.html", wait_until="load")
            _wait_for_silence(tab, site)
        return cost(site.asked)


def _wait_for_silence(tab, site) -> None:
    """Wait until a page has asked for nothing in a while.

    Not by Playwright's ``networkidle``, which on a busy machine sometimes never came.
    """
    before = -1
    while before != len(site.asked):
        before = len(site.asked)
        tab.wait_for_timeout(150)


def slowly(browser, site, page: str) -> dict[str, float]:
    """Open a page as on a slow telephone: shifts, and times in milliseconds."""
    with browser.new_context(**SCREEN, is_mobile=True) as context:
        context.add_init_script(WATCH)
        tab = context.new_page()
        tools = context.new_cdp_session(tab)
        tools.send("Network.enable")
        tools.send("Network.emulateNetworkConditions", NETWORK)
        tools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        tab.goto(f"{site.address}/{page}.html", wait_until="load")
        _wait_for_silence(tab, site)
        # A reader scrolls: pictures that come late would move what stands below.
        tab.evaluate("scrollTo(0, document.body.scrollHeight)")
        tab.wait_for_timeout(500)
        return tab.evaluate("watched")


def measure(browser, site, names: list[str], repeats: int) -> Iterator[tuple]:
    """Yield each page's name with what it costs."""
    for page in names:
        other = "index" if page != "index" else "refs"
        times = [slowly(browser, site, page) for _ in range(repeats)]
        yield (
            page,
            {
                "first": open_page(browser, site, page),
                "next": open_page(browser, site, page, coming_from=other),
                "layout shift": round(max(run["shift"] for run in times), 4),
                "largest paint, ms": round(
                    statistics.median(run["paint"] for run in times)
                ),
                "blocked, ms": round(
                    statistics.median(run["blocking"] for run in times)
                ),
            },
        )


def tools() -> pathlib.Path | None:
    """Install Lighthouse and the Nu checker, and return where; `None` without npm."""
    if not shutil.which("npm"):
        return None
    folder = ROOT / "_build" / "audit"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(ROOT / ".ci" / "audit" / name, folder)
    quietly = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(["npm", "ci", *quietly], cwd=folder, check=True)
    return folder / "node_modules"


def marks(modules: pathlib.Path, address: str) -> tuple[dict[str, int], list[str]]:
    """Return Lighthouse's marks for a page, from 0 to 100, and why some are not 100.

    Args:
      modules: where it is installed.
      address: of the page, on a server.
    """
    from book.chromium import CHROMIUM, FLAGS

    command = ["node", modules / "lighthouse" / "cli" / "index.js", address]
    command += ["--quiet", "--output=json", "--no-enable-error-reporting"]
    command += [f"--chrome-flags={' '.join(FLAGS)}"]
    environment = os.environ | {"CHROME_PATH": CHROMIUM}
    run = subprocess.run(command, env=environment, capture_output=True, check=True)
    report = json.loads(run.stdout)
    categories = report["categories"]
    short = [
        f"{category}: {report['audits'][audit['id']]['title']}"
        for category in ("performance", "accessibility")
        for audit in categories[category]["auditRefs"]
        if audit["weight"] and (report["audits"][audit["id"]]["score"] or 0) < 0.9
    ]
    return {
        name: round(100 * found["score"])
        for name, found in categories.items()
        if found["score"] is not None
    }, short


def wrong(modules: pathlib.Path, folder: pathlib.Path) -> list[str] | None:
    """Return what the Nu checker finds wrong in the markup; `None` without Java."""
    jar = modules / "vnu-jar" / "build" / "dist" / "vnu.jar"
    if not shutil.which("java"):
        return None
    command = ["java", "-Xss1m", "-jar", jar, "--errors-only", "--format", "json"]
    pages = sorted(folder.glob("*.html"))
    run = subprocess.run([*command, *pages], capture_output=True, text=True)
    return [
        f"{pathlib.Path(found['url']).name}: {found['message']}"
        for found in json.loads(run.stderr)["messages"]
        if not found["message"].startswith("CSS:")  # it does not know container queries
    ]


def main() -> None:
    """Measure, print a line for each page, and write the record."""
    from playwright.sync_api import sync_playwright

    from book.bench import machine
    from book.chromium import CHROMIUM, FLAGS, serving

    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--html", type=pathlib.Path, default=HTML)
    parser.add_argument("--record", type=pathlib.Path, default=RECORD)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--page",
        action="append",
        help="only this, and keep the others as recorded; repeat for more",
    )
    parser.add_argument("--quick", action="store_true", help="leave out Lighthouse")
    options = parser.parse_args()

    found, opinion = {}, {}
    modules = None if options.quick else tools()
    with serving(options.html) as site, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        names = options.page or pages(options.html)
        for page, costs in measure(browser, site, names, options.repeats):
            found[page] = costs
            first, after = costs["first"], costs["next"]
            print(
                f"{page:20}"
                f" first {first['bytes'] / 1000:5.0f} kB, {first['requests']:2}"
                f"   next {after['bytes'] / 1000:5.0f} kB, {after['requests']:2}"
                f"   shift {costs['layout shift']:.3f}"
                f"   paint {costs['largest paint, ms']:5} ms"
                f"   blocked {costs['blocked, ms']:4} ms",
                flush=True,
            )
        version = browser.version
        browser.close()
        for page in names if modules else []:
            found[page]["lighthouse"], short = marks(
                modules, f"{site.address}/{page}.html"
            )
            print(f"{page:20}", found[page]["lighthouse"], *short, flush=True)
    if modules and (errors := wrong(modules, options.html)) is not None:
        opinion["markup"] = errors
        print("the Nu checker finds:", *(errors or ["nothing"]), sep="\n  ")
    if not modules and not options.quick:
        print("no npm here: Lighthouse and the Nu checker were left out")
    measured = {
        "measured": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": machine(),
        "browser": f"Chromium {version}",
    }
    if options.page:
        record = json.loads(options.record.read_text("utf-8"))
        found = {page: costs | measured for page, costs in found.items()}
        record["pages"] = dict(sorted((record["pages"] | found).items()))
    else:
        record = {**measured, **opinion, "pages": found}
    options.record.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
