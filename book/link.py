"""Prints addresses in the book for whoever answers questions in a terminal.

    make link Q='has no attributes/key'

What is asked may be an error text, also a whole traceback, a name, a label, or words of
a title or of a section. The best come first.
"""

import argparse
import json
import os
import pathlib
import re

from book.answers import matches
from book.cells import ROOT

INDEX = ROOT / "_build" / "html" / "sections.json"
SHOWN = 8


def score(question: str, section: dict) -> float:
    """Return how well a section fits a question; 0 if it does not.

    Labels and messages count most, then names, then titles, then words.

    >>> section = {"label": "a-b", "labels": [], "title": "Copies of a", "chapter": "A",
    ...            "names": ["kd.train.Trainer"], "answers": ["no field … here"],
    ...            "text": "Some words.", "code": ""}
    >>> found = [score(q, section) for q in ("a-b", "no field x here", "Trainer",
    ...                                      "copies", "some words", "others")]
    >>> found == sorted(found, reverse=True), found[-1]
    (True, 0.0)
    """
    asked = " ".join(question.split())
    low = asked.lower()
    words = re.findall(r"[\w.]*\w", low)
    if low in (section["label"], *section["labels"]):
        return 1000.0
    found = 0.0
    if literal := max((matches(a, question) for a in section["answers"]), default=0):
        found += 400 + min(literal, 99)
    elif len(low) > 3 and any(low in a.lower() for a in section["answers"]):
        found += 350
    if any(_is_name(asked, name) for name in section["names"]):
        found += 200
    title, text = section["title"].lower(), section["text"].lower()
    for where, weight in (
        (title, 100),
        (section["label"].replace("-", " "), 60),
        (section["chapter"].lower(), 30),
        (section["code"].lower(), 50),
        (text, 40),
    ):
        if low in where:
            found += weight
    if words and all(w in f"{title} {text} {section['code'].lower()}" for w in words):
        found += 20 * sum(w in title for w in words) / len(words)
        found += min(sum(text.count(w) for w in words), 10)
    # A section about a message is for those who ask for it; others explain its words.
    return found / 2 if section["answers"] and found < 350 else found


def _is_name(asked: str, name: str) -> bool:
    return f".{name}".endswith(f".{asked}") or asked.endswith(f".{name}")


def answers(question: str, index: dict) -> list[tuple[str, str]]:
    """Return the addresses that fit a question, the best first, with their titles."""
    base = f"{index['address'].rstrip('/')}/" if index["address"] else ""
    scored = [(score(question, s), s) for s in index["sections"]]
    scored.sort(key=lambda each: -each[0])
    found = []
    for points, section in scored[:SHOWN]:
        if points:
            page, label = section["page"], section["label"]
            part = "" if label == page else f"#{label}"
            title = section["title"]
            if title != section["chapter"]:
                title += f" ({section['chapter']})"
            found.append((f"{base}{page}.html{part}", title))
    return found


def main() -> None:
    """Print what fits the question on the command line, or in ``Q``.

    Raises:
      SystemExit: if nothing fits, or if the book has not been built.
    """
    parser = argparse.ArgumentParser(description="addresses in the book")
    parser.add_argument("question", nargs="*")
    parser.add_argument("--index", type=pathlib.Path, default=INDEX)
    given = parser.parse_args()
    question = " ".join(given.question) or os.environ.get("Q", "")
    if not question.strip():
        raise SystemExit("link: ask something, such as make link Q='no attributes/key'")
    try:
        index = json.loads(given.index.read_text("utf-8"))
    except FileNotFoundError:
        raise SystemExit("link: the book is not built yet; make html") from None
    found = answers(question, index)
    if not found:
        raise SystemExit(f"link: nothing in the book fits {question!r}")
    width = max(len(address) for address, _ in found)
    for address, title in found:
        print(f"{address:<{width}}  {title}")


if __name__ == "__main__":
    main()
