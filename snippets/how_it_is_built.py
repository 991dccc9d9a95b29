"""The measured builds of the book: what *how-it-is-built* shows."""

from matplotlib.figure import Figure

from snippets.showing import BLUE, GREY, ORANGE, Picture

# What `make bench` has recorded.
Record = dict[str, dict[str, float]]

# The bars, from above: as measured, and as the page calls them.
BARS = {
    "stock": "stock MyST-NB",
    "stock, -j 2": "stock, two at once",
    "cold, one job": "ours, one at a time",
    "cold, two jobs": "ours, two at once",
    "a shared module edited": "a shared module edited",
    "a cell edited": "a cell edited",
    "a sentence edited": "a sentence edited",
    "no change": "nothing edited",
}


def measured(record: dict) -> str:
    """Return when, on what and with what a record was measured, as two lines.

    Args:
      record: of `make bench`.

    >>> record = {"measured": "2026-01-31", "machine": "a CPU, 2 cores", "repeats": 5}
    >>> print(measured(record | {"versions": {"jax": 1, "sphinx": 2}}))
    measured 2026-01-31 on a CPU, 2 cores; turns: 5
    jax 1, sphinx 2
    """
    versions = (f"{name} {version}" for name, version in record["versions"].items())
    where = f"{record['measured']} on {record['machine']}"
    return f"measured {where}; turns: {record['repeats']}\n{', '.join(versions)}"


def compared(record: Record) -> str:
    """Return what was compared, with the most that it should be, as a table.

    Args:
      record: with ``compared`` and, for some of it, ``targets``.

    >>> found = {"a ÷ b": 1.5, "b ÷ c": 2}
    >>> print(compared({"compared": found, "targets": {"a ÷ b": 1}}))
                                      measured  at most
    a ÷ b                                 1.50     1.00  missed
    b ÷ c                                 2.00
    """
    lines = [f"{'':34}{'measured':>8}{'at most':>9}"]
    for what, value in record["compared"].items():
        limit = record["targets"].get(what)
        judged = "" if limit is None else f"{limit:9.2f}"
        missed = "  missed" if limit is not None and value > limit else ""
        lines.append(f"{what:34}{value:8.2f}{judged}{missed}")
    return "\n".join(lines)


def executed(record: Record) -> str:
    """Return how many pages were executed after each kind of edit, as a table.

    Args:
      record: with the number of ``pages``, and those ``executed``.

    >>> print(executed({"pages": 9, "executed": {"cold, one job": 9, "no change": 0}}))
    cold, one job             9 of 9
    no change                 0 of 9
    """
    pages = record["pages"]
    rows = record["executed"].items()
    return "\n".join(f"{what:24}{count:3} of {pages}" for what, count in rows)


def bars(record: Record) -> Picture:
    """Draw how long builds took, with the code alone as the measure.

    Args:
      record: with the ``seconds`` of each build and of the ``floor``.
    """
    floor = record["seconds"]["floor"]
    ratios = {name: record["seconds"][what] / floor for what, name in BARS.items()}
    names = [*ratios][::-1]
    colours = [GREY if name.startswith("stock") else BLUE for name in names]
    figure = Figure(figsize=(6.8, 3.2))
    axes = figure.subplots()
    axes.barh(names, [ratios[name] for name in names], color=colours)
    axes.axvline(1, color=ORANGE)
    axes.set_xlabel("time ÷ that of the same cells in one plain process (the line)")
    axes.spines[["top", "right"]].set_visible(False)
    return Picture(
        figure, "\n".join(f"{name:24}{ratio:6.2f}" for name, ratio in ratios.items())
    )
