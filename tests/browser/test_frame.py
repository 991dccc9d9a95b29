"""The frame of a page: what its buttons do, with scripts and without."""

import pytest

from tests.browser.waiting import until

WIDE, NARROW = {"width": 1400, "height": 900}, {"width": 360, "height": 740}


@pytest.fixture
def open_refs(browser, addresses):
    """Return a function that opens a page, in a browser of its own."""
    contexts = []

    def opened(where="server", page="refs", **options):
        contexts.append(browser.new_context(**options))
        tab = contexts[-1].new_page()
        tab.goto(f"{addresses[where]}/{page}.html")
        return tab

    yield opened
    for context in contexts:
        context.close()


def theme(page) -> str:
    return page.evaluate("document.documentElement.dataset.theme")


def test_a_chosen_theme_is_remembered(open_refs):
    page = open_refs(viewport=WIDE, color_scheme="light")
    assert theme(page) == "light"
    page.click(".theme-switch-button")
    page.click("button[data-mode=dark]")
    assert theme(page) == "dark"
    assert not page.locator("details.dropdown[open]").count()
    page.goto(page.url.replace("refs", "kontext"))
    assert theme(page) == "dark"
    assert page.get_attribute("button[data-mode=dark]", "aria-pressed") == "true"
    page.click(".theme-switch-button")
    page.click("button[data-mode=auto]")
    assert theme(page) == "light"
    page.emulate_media(color_scheme="dark")
    until(page, "document.documentElement.dataset.theme === 'dark'")


def test_a_dark_page_is_dark_from_its_first_paint(open_refs):
    page = open_refs(color_scheme="dark")
    # The script does not come; what stands in the page has to do.
    page.route("**/site.js*", lambda route: route.abort())
    page.reload()
    assert theme(page) == "dark"


@pytest.mark.parametrize("scripts", [True, False], ids=["script", "no script"])
@pytest.mark.parametrize(
    ("toggle", "menu"), [("primary", "#site-menu"), ("secondary", "#page-menu")]
)
def test_side_bars_open_on_a_phone(open_refs, toggle, menu, scripts):
    page = open_refs(viewport=NARROW, java_script_enabled=scripts)
    bar = page.locator(menu)
    assert not bar.is_visible()
    page.focus(f"button.{toggle}-toggle")
    page.keyboard.press("Enter")
    assert bar.is_visible()
    page.keyboard.press("Tab")  # goes into the bar
    assert page.locator(f"{menu} :focus").count() == 1
    page.keyboard.press("Escape")
    assert not bar.is_visible()
    page.click(f"button.{toggle}-toggle")
    page.mouse.click(*((350, 600) if toggle == "primary" else (10, 600)))
    assert not bar.is_visible()


def test_a_link_in_the_contents_closes_them_on_a_phone(open_refs):
    page = open_refs(viewport=NARROW)
    page.click("button.secondary-toggle")
    page.click("#page-menu a[href='#refs-copies']")
    assert page.url.endswith("#refs-copies")
    assert not page.locator("#page-menu").is_visible()


def test_the_chapters_can_make_room_on_a_wide_screen(open_refs):
    page = open_refs(viewport=WIDE)
    chapters = page.locator("#site-menu")
    assert chapters.is_visible()
    page.click("button.primary-toggle")
    assert not chapters.is_visible()
    assert page.locator("a.search-button").is_visible()
    page.keyboard.press("Control+k")
    assert chapters.is_visible()
    assert page.evaluate("document.activeElement.name") == "q"


def test_without_scripts_a_page_has_all_but_what_needs_them(open_refs):
    page = open_refs(viewport=WIDE, java_script_enabled=False)
    for selector, seen in {
        "article": True,
        "#site-menu": True,
        "#page-menu": True,
        "#site-menu input[name=q]": True,
        ".primary-toggle": False,
        ".theme-switch-button": False,
        ".search-keys": False,
    }.items():
        assert page.locator(selector).is_visible() == seen, selector


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_a_key_leads_to_the_search(open_refs, size):
    page = open_refs(viewport=size)
    page.keyboard.press("Control+k")
    page.keyboard.type("RequiredValueError")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=RequiredValueError")


def test_the_contents_follow_the_reader(open_refs):
    page = open_refs(viewport=WIDE)
    marked = "document.querySelector('#page-menu [aria-current]')?.hash"
    until(page, f"{marked} === undefined")
    page.evaluate("document.querySelector('#refs-copies').scrollIntoView()")
    until(page, f"{marked} === '#refs-copies'")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    until(page, f"{marked} === '#refs-next'")
    page.evaluate("scrollTo(0, 0)")
    until(page, f"{marked} === undefined")


def test_the_chapter_that_is_open_is_in_sight(open_refs):
    page = open_refs(page="how-it-is-checked", viewport={"width": 1400, "height": 400})
    link = page.locator("#site-menu .current.active > a")
    place = link.bounding_box()
    assert place["y"] >= 0 and place["y"] + place["height"] <= 400
    assert page.evaluate("scrollY") == 0


def test_what_scrolls_can_be_scrolled_by_keyboard(open_refs):
    page = open_refs(viewport=NARROW)
    block = page.locator("pre[tabindex='0']").first
    block.wait_for(state="attached")
    assert page.evaluate(
        """[...document.querySelectorAll("main pre")]
          .filter(block => block.checkVisibility())
          .every(block => (block.scrollWidth > block.clientWidth)
            === (block.tabIndex === 0 && block.ariaLabel.endsWith("that scrolls")))"""
    )
    block.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    until(page, "document.activeElement.scrollLeft > 0")


def test_focus_is_seen_on_all_that_takes_it(open_refs):
    page = open_refs(viewport=WIDE)
    seen = 0
    for _ in range(400):
        page.keyboard.press("Tab")
        place = page.evaluate(
            """(() => {
              const node = document.activeElement;
              if (node === document.body) return null;
              const field = node.closest(".bd-search") ?? node;
              const style = getComputedStyle(field);
              return [node.outerHTML.slice(0, 80), style.outlineStyle,
                parseFloat(style.outlineWidth)];
            })()"""
        )
        if place is None:
            break
        assert place[1] == "solid" and place[2] >= 2, place
        seen += 1
    assert seen > 40


def test_paper_has_all_of_a_page_and_nothing_of_its_frame(open_refs):
    page = open_refs(viewport=WIDE, color_scheme="dark")
    assert not page.locator("details.hide .cell_input").first.is_visible()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details.hide .cell_input").first.is_visible()
    assert page.locator("article h1").is_visible()
    assert page.locator(".what-ran").is_visible()
    for selector in (
        "#site-menu",
        "#page-menu",
        ".bd-header-article",
        ".copybtn",
        ".prev-next-footer",
        ".headerlink",
        "details.hide > summary",
    ):
        assert not page.locator(selector).first.is_visible(), selector
    assert theme(page) == "light"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert theme(page) == "dark"
    assert page.pdf()[:4] == b"%PDF"


def test_paper_says_where_external_links_lead(open_refs):
    page = open_refs(page="names", viewport=WIDE)
    page.emulate_media(media="print")
    after = page.evaluate(
        """[...document.querySelectorAll("article a.external")].map(link =>
          getComputedStyle(link, "::after").content.includes("http") ||
          getComputedStyle(link, "::after").content.includes("attr"))"""
    )
    assert after and all(after)
    within = page.evaluate(
        """[...document.querySelectorAll("article a.internal")].map(link =>
          getComputedStyle(link, "::after").content)"""
    )
    assert set(within) <= {"none", "normal"}
