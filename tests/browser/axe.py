"""Asks axe-core what stands in the way of people who cannot see, or use no mouse."""

from axe_playwright_python.sync_playwright import Axe

# The rules about colours: a theme changes nothing else.
COLOURS = ("color-contrast", "link-in-text-block")
# axe-core itself leaves this rule out; Lighthouse asks for it.
OPTIONS = {
    "resultTypes": ["violations"],
    "preload": False,  # it would ask for the style sheet, which it cannot from disk
    "rules": {"label-content-name-mismatch": {"enabled": True}},
}


def found_by_axe(page, rules: tuple[str, ...] = ()) -> list[tuple]:
    """Return what axe-core finds: the rule, and where.

    Args:
      page: that is open.
      rules: the only ones to look at, instead of all that axe-core has on by itself.
    """
    only = {"runOnly": {"type": "rule", "values": list(rules)}} if rules else {}
    options = OPTIONS | only
    found = Axe().run(page, options=options).response
    return [
        (rule["id"], node["target"], node["html"][:200])
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
