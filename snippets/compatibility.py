"""Reads what `make compat` recorded: which versions run the chapters of this book."""

from collections import Counter

from snippets.install import recorded

# How a chapter can come out.
RESULTS = ("same", "differs", "fails")
# The packages on which most breaks depend, which a summary names.
SHOWN = ("kauldron", "jax", "etils")


def combinations() -> dict[str, dict]:
    """Return what was found under each combination of versions, by its name.

    >>> combinations()["tutorial"]["asked"]["jax"]
    '0.10.2'
    """
    return recorded("compat")["combinations"]


def results(name: str) -> dict[str, str]:
    """Return how each chapter came out under a combination: one of `RESULTS`.

    Raises:
      KeyError: if there is no such combination.

    >>> results("tutorial")["konfig"]
    'same'
    """
    found = combinations()[name]["chapters"]
    return {page: chapter["result"] for page, chapter in found.items()}


def said(name: str, page: str = "") -> str:
    """Return all that was found under a combination, tracebacks and differences.

    Args:
      name: of the combination.
      page: only what was found in this chapter.

    >>> "has no attribute 'prng'" in said("tutorial", "ktyping")
    True
    """
    found = combinations()[name]["chapters"]
    return "\n".join(
        finding["text"]
        for chapter in ([page] if page else found)
        for finding in found[chapter]["findings"]
    )


def where(message: str) -> str:
    """Return a message, and the chapters in which it was found, a combination a line.

    Args:
      message: or a part of it.

    >>> print(where("no such message"))
    no such message
    """
    lines = [message]
    for name in combinations():
        if pages := [page for page in results(name) if message in said(name, page)]:
            lines.append(f"  {name}: {', '.join(pages)}")
    return "\n".join(lines)


def summary() -> str:
    """Return a line for each combination: its versions, and how its chapters came out.

    >>> print(summary().splitlines()[0])
    combination                kauldron  jax       etils   same differs fails
    """
    head = ("combination", *SHOWN, *RESULTS)
    lines = [_line(head)]
    for name, entry in combinations().items():
        # A branch's version has its commit behind it.
        versions = [entry["versions"].get(each, "").split()[:1] for each in SHOWN]
        if not entry["installed"]:
            lines.append(f"{name:26} cannot be installed")
            continue
        counts = Counter(results(name).values())
        cells = [*("".join(each) for each in versions)]
        lines.append(_line((name, *cells, *(counts[word] for word in RESULTS))))
    return "\n".join(lines)


def _line(cells: tuple[object, ...]) -> str:
    return "{:26} {:9} {:9} {:7} {:>4} {:>7} {:>5}".format(*cells)
