"""What only a browser can tell of a page: its width, its buttons, its requests."""

import pytest

from book.cells import cells, pages
from tests.browser.axe import colours, found_by_axe
from tests.browser.waiting import until

SIZES = {"wide": (1400, 900), "narrow": (360, 740)}

# Pictures whose place is higher or wider than they are.
STRETCHED = """
[...document.querySelectorAll("article img")].filter((picture) => {
  const style = getComputedStyle(picture);
  const shown = parseFloat(style.width) / parseFloat(style.height);
  const drawn = picture.getAttribute("width") / picture.getAttribute("height");
  return !(Math.abs(shown / drawn - 1) < 0.02);
}).map((picture) => picture.alt)
"""
# Blocks that scroll. A folded traceback of other versions may: nobody can wrap it.
OVERFLOWING = """
[...document.querySelectorAll("div.highlight pre")]
  .filter(block => !block.closest(".compat-finding"))
  .filter(block => block.offsetParent && block.scrollWidth > block.clientWidth)
  .map(block => block.innerText.split("\\n").sort((a, b) => b.length - a.length)[0])
"""
SEARCH_FIELDS = """
[...document.querySelectorAll("input[type=search], .search-button__button")]
  .filter(field => field.offsetParent !== null).length
"""
# Links that only their colour tells from the words around them.
NOT_UNDERLINED = """
[...document.querySelectorAll("article a[href]:not(.headerlink)")].filter((link) =>
  link.offsetParent && !getComputedStyle(link).textDecorationLine.includes("underline")
).map((link) => link.innerText)
"""
# Everything that is shown with text, and how its colour stands against its ground.
UNREADABLE = """
(() => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => {
    const linear = [r, g, b].map((v) => {
      v /= 255;
      return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const colour = rgba(getComputedStyle(node).backgroundColor);
      if (colour[3] > 250) return colour;
    }
    return [255, 255, 255, 255];
  };
  const bad = [];
  const walker = document.createTreeWalker(
    document.querySelector("article"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !node.offsetParent) continue;
    if (node.closest("button, .headerlink")) continue;
    const [a, b] = [light(rgba(getComputedStyle(node).color)), light(ground(node))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) bad.push(walker.currentNode.data.trim() + " " + contrast);
  }
  return bad;
})()
"""


@pytest.fixture(params=pages())
def page_name(request) -> str:
    return request.param


@pytest.fixture(params=SIZES)
def size(request) -> str:
    return request.param


@pytest.fixture(params=["light", "dark"])
def theme(request) -> str:
    return request.param


@pytest.fixture
def opened(browser, addresses, page_name, size, theme):
    """Open a page from disk; fail if it asks for anything elsewhere or complains."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=theme
    )
    page = context.new_page()
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: complaints.append(request.url))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    # What the page's policy refuses is said there.
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(f"{addresses['disk']}/{page_name}.html", wait_until="load")
    page.wait_for_timeout(50)  # what scrolls is marked behind the first paint
    yield page
    context.close()
    elsewhere = [u for u in asked if not u.startswith((addresses["disk"], "data:"))]
    assert (elsewhere, complaints) == ([], [])


def test_a_page_fits_and_nothing_stands_in_the_way(opened, size, theme):
    width = SIZES[size][0]
    assert opened.evaluate("document.documentElement.dataset.theme") == theme
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.evaluate(SEARCH_FIELDS) == 1
    assert opened.evaluate(UNREADABLE) == []
    assert opened.evaluate(NOT_UNDERLINED) == []
    assert opened.evaluate(STRETCHED) == []
    if size == "wide":
        assert opened.evaluate(OVERFLOWING) == []
    # The two themes differ in nothing but colours.
    assert (found_by_axe if theme == "light" else colours)(opened) == []
    # Some readers need text of twice the size.
    opened.evaluate("document.documentElement.style.fontSize = '200%'")
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.evaluate(SEARCH_FIELDS) == 1


def styled(opened, where: str, name: str, value: str) -> str:
    """Change the style of the first element at a place, and return its words."""
    words = opened.locator(where).first
    change = "(node, [name, value]) => node.style.setProperty(name, value, 'important')"
    words.evaluate(change, [name, value])
    return words.inner_text().strip()


def test_colours_that_are_no_help_are_found(browser, addresses):
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(f"{addresses['disk']}/refs.html")
    assert found_by_axe(page, text=True) == []
    for where in ("article div.highlight pre span.n", "article p"):
        words = styled(page, where, "color", "#bbb")
        assert any(words[:20] in found for found in page.evaluate(UNREADABLE))
        styled(page, where, "color", "inherit")
    link = styled(page, "article p a:not(.headerlink)", "text-decoration", "none")
    assert page.evaluate(NOT_UNDERLINED) == [link]
    assert found_by_axe(page) == []  # it is asked only of what is around the text
    styled(page, "nav a:visible", "color", "#bbb")
    assert {rule for rule, *_ in found_by_axe(page)} == {"color-contrast"}
    page.close()


@pytest.mark.parametrize("toggle", ["primary", "secondary", "theme"])
def test_nothing_stands_in_the_way_of_one_who_opens_a_menu(
    browser, addresses, theme, toggle
):
    context = browser.new_context(
        viewport={"width": 360, "height": 740}, color_scheme=theme
    )
    page = context.new_page()
    page.goto(f"{addresses['server']}/refs.html")
    page.click(
        ".theme-switch-button" if toggle == "theme" else f"button.{toggle}-toggle"
    )
    assert page.locator(":popover-open, details.dropdown[open]").count() == 1
    assert found_by_axe(page) == []
    context.close()


def test_every_cell_has_a_copy_button(browser, addresses, page_name):
    page = browser.new_page()
    page.goto(f"{addresses['server']}/{page_name}.html")
    page.wait_for_selector("button.copybtn", state="attached")
    shown = [c for c in cells(page_name) if not {"remove-cell"} & set(c.tags)]
    assert page.locator("div.cell_input button.copybtn").count() == len(shown)
    assert page.locator("div.cell_output button.copybtn").count() == 0
    page.close()


def test_a_link_opens_at_its_section(browser, addresses):
    page = browser.new_page(viewport={"width": 1400, "height": 600})
    page.goto(f"{addresses['server']}/refs.html#refs-copies", wait_until="load")
    assert page.evaluate("document.querySelector(location.hash) !== null")
    top = "document.querySelector('#refs-copies h2').getBoundingClientRect().top"
    until(page, f"{top} >= 0 && {top} < 300")
    page.close()


def test_a_notebook_is_saved_from_a_server_and_opens_from_disk(browser, addresses):
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(f"{addresses['server']}/refs.html")
    link = page.locator("a[download]").first
    with page.expect_download() as download:
        link.click()
    assert download.value.suggested_filename == "refs.ipynb"
    page.goto(f"{addresses['disk']}/refs.html")
    link.click()
    page.wait_for_url("**/notebooks/refs.ipynb")
    assert '"nbformat": 4' in page.inner_text("body")
    page.close()
