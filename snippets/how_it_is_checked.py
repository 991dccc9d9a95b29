"""The figures of the lies told to the book: what *how-it-is-checked* shows."""

from matplotlib.figure import Figure

from snippets.showing import BLUE, GREY, Picture

# What `make mutants` has recorded: for each kind, how many were caught and told.
Record = dict[str, dict[str, tuple[int, int]]]


def lies_told(record: Record) -> str:
    """Return how many lies of each kind were told and caught, as a table.

    Args:
      record: of which ``kinds`` has, for each kind, the numbers caught and told.

    >>> kinds = {"a cell": (3, 4), "no lie": (0, 10)}
    >>> print(lies_told({"kinds": kinds, "equivalent": 1}))
    kind              caught  told
    a cell                 3     4
    no lie                 0    10
    equivalent, not counted      1
    """
    width = max(16, *(len(kind) for kind in record["kinds"]))
    lines = [f"{'kind':{width}}{'caught':>8}{'told':>6}"]
    for kind, (caught, told) in record["kinds"].items():
        lines.append(f"{kind:{width}}{caught:>8}{told:>6}")
    lines.append(f"{'equivalent, not counted':{width + 8}}{record['equivalent']:>6}")
    return "\n".join(lines)


def bars(record: Record) -> Picture:
    """Draw how many lies of each kind were told, and how many of them caught.

    Args:
      record: as for `lies_told`.
    """
    kinds = {kind: n for kind, n in record["kinds"].items() if kind != "no lie"}
    names = [*kinds][::-1]
    figure = Figure(figsize=(6.8, 3.6))
    axes = figure.subplots()
    axes.barh(names, [kinds[name][1] for name in names], color="none", edgecolor=GREY)
    axes.barh(names, [kinds[name][0] for name in names], color=BLUE)
    axes.set_xlabel("lies told; filled: caught")
    axes.spines[["top", "right"]].set_visible(False)
    return Picture(figure, lies_told(record))
