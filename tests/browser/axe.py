"""Asks axe-core what stands in the way of people who cannot see, or use no mouse."""

from axe_playwright_python.sync_playwright import Axe

# axe-core itself leaves this rule out; Lighthouse asks for it.
OPTIONS = {
    "resultTypes": ["violations"],
    "preload": False,  # it would ask for the style sheet, which it cannot from disk
    "rules": {"label-content-name-mismatch": {"enabled": True}},
}


def found_by_axe(page) -> list[tuple]:
    """Return what axe-core finds: the rule, and where."""
    found = Axe().run(page, options=OPTIONS).response
    return [
        (rule["id"], node["target"], node["html"][:200])
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
