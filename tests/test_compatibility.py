"""What the page *compatibility* only shows: its record, its table and its addresses."""

import json
import re

import pytest
from docutils import nodes

from book.cells import ROOT
from book.compatibility_page import RECORD, grid, runs
from compat.matrix import read
from snippets.compatibility import combinations, results, said, summary, where

MATRIX = read()
CHAPTERS = {
    "refs": {"result": "same", "findings": []},
    "trainer": {
        "result": "fails",
        "more": 3,
        "findings": [
            {
                "section": "trainer-loop",
                "line": 7,
                "cell": 2,
                "kind": "fails",
                "text": "No: no",
                "again": 4,
            },
            {
                "section": "gone",
                "line": 9,
                "cell": 0,
                "kind": "claim",
                "text": "assert False",
            },
        ],
    },
}
GOOD = {
    "why": "To see.",
    "python": "3.12.1",
    "asked": {},
    "versions": {"kauldron": "1.4.4 at 0123456789"},
    "patched": False,
    "measured": "2026-01-02",
    "installed": True,
    "chapters": CHAPTERS,
}
NONE = GOOD | {"installed": False, "versions": {}, "chapters": {}, "error": "No."}
SOME = {"good": GOOD, "none-of_it": NONE}


def link(label: str) -> nodes.Node:
    return nodes.reference("", label, refuri=f"page.html#{label}")


def test_the_record_is_of_the_matrix():
    for name, entry in combinations().items():
        assert entry["why"] == MATRIX[name].why, f"make compat ONLY={name}"
        for package, version in MATRIX[name].asked.items():
            assert not entry["installed"] or entry["versions"][package] == version


def test_the_record_is_small_and_of_no_machine():
    text = RECORD.read_text("utf-8")
    assert len(text.encode()) < 200_000
    for kept in re.findall(r"/(?:home|root|tmp|usr|opt|Users)/[\w.]+", text):
        raise AssertionError(kept)
    assert not re.search(r"0x[0-9a-f]{6,}|\\u001b|site-packages", text)
    assert str(ROOT) not in text


def test_the_date_is_the_newest_of_all():
    dates = [entry["measured"] for entry in combinations().values()]
    assert json.loads(RECORD.read_text("utf-8"))["measured"] == max(dates)


def test_each_combination_has_a_line():
    lines = summary().splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(combinations())
    (tutorial,) = (line.split() for line in lines if line.startswith("tutorial "))
    assert tutorial[1:4] == ["1.4.2", "0.10.2", "1.14.0"]
    counts = lines[1].split()[-3:]
    words = list(results("pinned").values())
    assert counts == [str(words.count(word)) for word in ("same", "differs", "fails")]


def test_what_was_said_is_found_where_it_was():
    prng = "module 'jax._src' has no attribute 'prng'"
    assert "  etils-alone: kontext" in where(prng)
    assert prng in said("etils-alone") and prng not in said("etils-alone", "konfig")
    with pytest.raises(KeyError):
        results("no such set")


def test_each_word_that_is_not_same_leads_to_what_was_found():
    elements = runs(SOME, link).findall(nodes.Element)
    ids = {each for node in elements for each in node.get("ids", ())}
    table = grid(SOME)
    links = {n.astext(): n["refid"] for n in table.findall(nodes.reference)}
    assert links == {
        "good": "compat-good",
        "none-of_it": "compat-none-of-it",
        "fails": "compat-good-trainer",
        "cannot be installed": "compat-none-of-it",
    }
    assert set(links.values()) <= ids
    # So that the address stays when the chapter comes out otherwise.
    assert "compat-good-refs" in ids


def test_the_list_says_what_was_found_and_what_was_left_out():
    found = runs(SOME, link)
    text = found.astext()
    assert (
        "trainer-loop, cell 2, line 7: a cell fails, and 4 more with the same" in text
    )
    assert "gone, line 9: what a sentence says does not hold." in text
    assert "Not shown: 3 more." in text and "Same: refs." in text
    assert "kauldron 1.4.4 at 0123456789. Measured 2026-01-02." in " ".join(
        text.split()
    )
    assert "Asked for: the newest of everything." in text and "No." in text
    sections = [n["refuri"] for n in found.findall(nodes.reference)]
    assert sections == ["page.html#trainer-loop", "page.html#gone"]


def test_a_chapter_that_only_few_have_run_is_no_column():
    few = {**CHAPTERS, "data": {"result": "differs", "findings": []}}
    heads = [
        n.astext()
        for n in grid({"a": GOOD, "b": GOOD, "c": GOOD | {"chapters": few}}).findall(
            nodes.thead
        )
    ]
    assert heads[0].split() == ["set", "refs", "trainer", "others"]


def test_a_chapter_that_was_not_run_is_said():
    half = GOOD | {"chapters": {"refs": CHAPTERS["refs"]}}
    assert "not run" in grid({"a": GOOD, "b": GOOD, "c": half}).astext()
