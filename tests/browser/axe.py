"""Asks axe-core what stands in the way of people who cannot see, or use no mouse."""

from axe_playwright_python.sync_playwright import Axe

# axe-core itself leaves this rule out; Lighthouse asks for it.
OPTIONS = {
    "resultTypes": ["violations"],
    "preload": False,  # it would ask for the style sheet, which it cannot from disk
    "rules": {"label-content-name-mismatch": {"enabled": True}},
}


# Two of its rules look at each pair of colours on a page, which took three quarters of
# the time of all tests in a browser. In the text of a page, test_pages.py holds the
# same by a look at each word and each link: `UNREADABLE` and `NOT_UNDERLINED`.
COLOURS = ("color-contrast", "link-in-text-block")
TEXT = "article"


def found_by_axe(page, text: bool = False) -> list[tuple]:
    """Return what axe-core finds: the rule, and where.

    Args:
      page: as Playwright has it.
      text: whether it is asked of the colours in the text, too.
    """
    rules = OPTIONS["rules"] | {rule: {"enabled": False} for rule in COLOURS}
    return _violations(page, options=OPTIONS | {"rules": rules}) + colours(page, text)


def colours(page, text: bool = False) -> list[tuple]:
    """Return what axe-core finds of colours alone: around the text, or in it too."""
    options = {"runOnly": COLOURS, "resultTypes": ["violations"], "preload": False}
    around = {} if text else {"context": {"exclude": [[TEXT]]}}
    return _violations(page, options=options, **around)


def _violations(page, **asked) -> list[tuple]:
    return [
        (rule["id"], node["target"], node["html"][:200])
        for rule in Axe().run(page, **asked).response["violations"]
        for node in rule["nodes"]
    ]
