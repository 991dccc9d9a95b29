"""Writes Markdown that holds what a run has printed, and fits into GitHub's limit."""

import re

# Of the text of an issue or a pull request, in characters.
LIMIT = 65_536


def fenced(text: str, language: str = "text") -> str:
    """Return a text as a block that none of its own backticks can end.

    In a block, no name is called and no comment is hidden, whatever a run prints.

    >>> print(fenced("a ```b``` c"))
    ````text
    a ```b``` c
    ````
    """
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def shortened(text: str, lines: int) -> str:
    """Return at most so many lines of a text, and how many more there are.

    >>> print(shortened("a\\nb\\nc", 2))
    a
    b
    … and 1 line more
    """
    all_lines = text.splitlines()
    more = len(all_lines) - lines
    if more <= 0:
        return text
    said = f"… and {more} {'line' if more == 1 else 'lines'} more"
    return "\n".join([*all_lines[:lines], said])


def fitting(head: str, parts: list[tuple[str, str]], tail: str, limit: int) -> str:
    """Return as much of a text as GitHub takes, and what was left out.

    Args:
      head: what comes first.
      parts: names and texts, the most important first; one that no longer fits is
        left out, and so are all behind it.
      tail: what comes last.
      limit: the most characters.

    >>> print(fitting("Two.", [("a", "A" * 9), ("b", "B" * 99)], "End.", limit=90))
    Two.
    <BLANKLINE>
    AAAAAAAAA
    <BLANKLINE>
    Left out, since GitHub takes no longer text (1): b.
    <BLANKLINE>
    End.
    """
    for kept in range(len(parts), -1, -1):
        names = ", ".join(name for name, _ in parts[kept:])
        cut = f"Left out, since GitHub takes no longer text ({len(parts) - kept}): "
        pieces = [head, *(text for _, text in parts[:kept])]
        if names:
            pieces.append(shortened_line(cut + names + ".", 500))
        text = "\n\n".join(piece for piece in [*pieces, tail] if piece)
        if len(text) <= limit:
            return text
    room = max(0, limit - len(tail) - 5)
    return f"{head[:room]} …\n\n{tail}"


def shortened_line(text: str, characters: int) -> str:
    """Return a line that has at most so many characters."""
    return text if len(text) <= characters else f"{text[: characters - 2]} …"


def table(rows: list[list[str]]) -> str:
    """Return a table; its first row is the head.

    >>> print(table([["a", "b"], ["x | y", "2"]]))
    | a | b |
    | --- | --- |
    | x \\| y | 2 |
    """
    lines = [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
        for row in rows
    ]
    return "\n".join([lines[0], "| --- " * len(rows[0]) + "|", *lines[1:]])
