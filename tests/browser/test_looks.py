"""The shortened style sheet: pages look as they do with the whole ones."""

import pathlib
import shutil

import pytest

STYLES = """
() => [...document.body.querySelectorAll("*")].flatMap((node) =>
  [null, "::before", "::after"].map((part) => {
    const style = getComputedStyle(node, part);
    if (part && style.content === "none") return "";
    const names = [...style].filter((name) => !name.startsWith("--"));
    const all = names.map((name) => `${name}: ${style.getPropertyValue(name)}`);
    return `${node.outerHTML.slice(0, 60)} ${part} ${all.join("; ")}`;
  }))
"""


@pytest.fixture(scope="module")
def whole(root, build, built, tmp_path_factory) -> str:
    """Return the address of the book with all that the theme brings.

    That is in one file, and the same for any page.
    """
    out, copy = tmp_path_factory.mktemp("one page"), tmp_path_factory.mktemp("whole")
    run = build(root, out, "-D", "book_shake=0", page="refs")
    assert run.returncode == 0, run.stderr
    shutil.copytree(built[1] / "html", copy / "html")
    sheet = pathlib.Path("html", "_static", "site.css")
    before = (copy / sheet).stat().st_size
    shutil.copy(out / sheet, copy / sheet)
    assert (copy / sheet).stat().st_size > 2 * before
    return (copy / "html").as_uri()


@pytest.mark.parametrize(("theme", "width"), [("light", 1400), ("dark", 360)])
@pytest.mark.parametrize("name", ["carry-away", "index", "refs"])
def test_every_element_looks_the_same(browser, addresses, whole, name, theme, width):
    with browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=theme
    ) as context:
        page, looks = context.new_page(), []
        for address in (addresses["disk"], whole):
            page.goto(f"{address}/{name}.html")
            page.wait_for_selector(".copybtn", state="attached")
            page.wait_for_timeout(300)
            looks.append(page.evaluate(STYLES))
    assert len(looks[0]) > 500
    assert looks[0] == looks[1]
