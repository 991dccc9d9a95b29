"""Asks axe-core what stands in the way of people who cannot see, or use no mouse."""

from axe_playwright_python.sync_playwright import Axe

# axe-core itself leaves this rule out; Lighthouse asks for it.
OPTIONS = {
    "resultTypes": ["violations"],
    "preload": False,  # it would ask for the style sheet, which it cannot from disk
    "rules": {"label-content-name-mismatch": {"enabled": True}},
}


# Its rule about colours needs four seconds for the thousands of coloured words in the
# code of a page, where `UNREADABLE` of test_pages.py holds each to the same contrast.
COLOURS = "color-contrast"
CODE = "article div.highlight pre"


def found_by_axe(page) -> list[tuple]:
    """Return what axe-core finds: the rule, and where; no colours in blocks of code."""
    rules = OPTIONS["rules"] | {COLOURS: {"enabled": False}}
    colours = {"runOnly": [COLOURS], "resultTypes": ["violations"], "preload": False}
    runs = [
        Axe().run(page, options=OPTIONS | {"rules": rules}),
        Axe().run(page, context={"exclude": [[CODE]]}, options=colours),
    ]
    return [
        (rule["id"], node["target"], node["html"][:200])
        for run in runs
        for rule in run.response["violations"]
        for node in rule["nodes"]
    ]
