"""What the chapter *upstream-drift* only shows: pairs, differences, letters."""

import re

import hypothesis.strategies as st
import pytest
from hypothesis import given

from snippets.upstream_drift import (
    BLOCKS,
    PAIRS,
    READY,
    WITH_ARGUMENTS,
    Outcome,
    Pair,
    difference,
    drift,
    from_command_line,
    letter,
    letters,
    overview,
    small,
    trained,
    tried,
)

LINES = st.lists(st.sampled_from(["a = 1", "b = 2", "  c", "d()"]), min_size=1)


def swap(**changes) -> Pair:
    """Return a pair of a page that needs no names."""
    fields = {
        "page": "docs/sharding.md",
        "why": "a name.",
        "old": "x = y",
        "new": "x = 1",
        "error": NameError,
        "then": "x",
    }
    return Pair(**fields | changes)


@given(old=LINES, new=LINES)
def test_a_difference_holds_both_codes(old, new):
    old, new = [*old, "old"], [*new, "new"]
    lines = difference("\n".join(old), "\n" + "\n".join(new) + "\n")
    assert [line[1:] for line in lines if line[0] != "+"] == old
    assert [line[1:] for line in lines if line[0] != "-"] == new


@pytest.mark.parametrize(
    "changes",
    [
        {"old": "x = 1"},  # no error
        {"error": ValueError},  # another error
        {"error": None},  # an error where there should be none
    ],
)
def test_an_old_code_that_fails_otherwise_is_no_pair(changes):
    with pytest.raises(AssertionError, match="docs/sharding"):
        tried(swap(**changes))


def test_a_new_code_that_fails_passes_its_error_on():
    with pytest.raises(ZeroDivisionError):
        tried(swap(new="x = 1 / 0"))


def test_an_outcome_is_an_error_a_value_or_what_is_printed():
    assert tried(swap()) == Outcome(
        before="NameError: name 'y' is not defined", after="x is 1"
    )
    runs = swap(old="x = 2", error=None)
    assert tried(runs).before == "x is 2"
    prints = swap(new="print('one')\nprint('  two ')", then=None)
    assert tried(prints).after == "two"
    unread = tried(swap(old="x = = 1", error=SyntaxError)).before
    assert unread == "SyntaxError: invalid syntax"
    of_konfig = swap(
        old="raise NameError('Error resolving the config:\\nFor: x\\nthe cause')"
    )
    assert tried(of_konfig).before.endswith("config: … the cause")
    of_path = swap(old="raise NameError('from here (/a/b.py) to there\\nand on')")
    assert tried(of_path).before == "NameError: from here to there"


def test_each_code_has_names_of_its_own():
    assert tried(swap(old="x = z", new="x = z = 1")).after == "x is 1"
    assert "'z'" in tried(swap(old="x = z", new="x = 3")).before


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.page}: {pair.why}")
def test_a_pair_says_where_why_and_what(pair):
    assert pair.page in BLOCKS
    assert pair.page in READY
    assert list(pair.blocks) == sorted(set(pair.blocks))
    assert all(0 < block <= BLOCKS[pair.page] for block in pair.blocks)
    assert pair.why.endswith(".")
    assert pair.old.strip() != pair.new.strip()
    changed = difference(pair.old, pair.new)
    assert any(line[0] in "+-" for line in changed)
    assert max(map(len, changed)) <= 88
    outcome = tried(pair)
    assert outcome.before != outcome.after
    assert pair.error is None or re.match(r"\w+Error: .", outcome.before)
    # What differs from machine to machine, or from run to run.
    for text in (outcome.before, outcome.after):
        assert not re.search(r"0x[0-9a-f]{6}|/tmp/|<official|site-packages", text)


def test_no_pair_stands_twice():
    assert len({(pair.page, pair.old) for pair in PAIRS}) == len(PAIRS)


def test_the_overview_counts_every_pair_once():
    head, *rows, last = (line.split() for line in overview().splitlines())
    assert head == ["blocks", "changed", "stops", "differs", "works"]
    assert [row[0] for row in rows] == list(BLOCKS)
    numbers = [list(map(int, row[1:])) for row in rows]
    assert list(map(int, last[1:])) == [
        sum(column) for column in zip(*numbers, strict=True)
    ]
    assert sum(row[2] + row[3] for row in numbers) == len(PAIRS)
    for blocks, changed, stops, differs, works in numbers:
        assert changed <= blocks
        assert works == stops + differs


def test_a_letter_can_be_pasted(tmp_path):
    files = letters(tmp_path / "new")
    assert {file.read_text("utf-8").split(":")[0] for file in files} == {
        f"# {pair.page}" for pair in PAIRS
    }
    assert len(files) == len(set(files))
    for file in files:
        text = file.read_text("utf-8")
        fences = re.findall("^```.*$", text, re.MULTILINE)
        assert fences == ["```diff", "```"] * (len(fences) // 2)
        assert all(len(line) <= 88 for line in text.splitlines())
    page = PAIRS[0].page
    assert letter(page).endswith(drift(page) + "\n")
    assert drift(page).count("```diff") == sum(pair.page == page for pair in PAIRS)


def test_a_place_is_said_in_words():
    text = drift("docs/checkpoint.md")
    assert "**Block 1**: " in text
    assert "**Blocks 3, 4, 5**: " in text
    assert "**Text**: " in text


def test_what_the_pairs_stand_on():
    run = trained()
    assert trained() is run
    assert run.checkpointer.all_steps == [0, 1]
    assert (run.workdir / "config.json").exists()
    cfg = small("here")
    assert (cfg.workdir, cfg.num_train_steps) == ("here", 1)
    file = "from kauldron import konfig\ndef get_config():\n"
    file += "    return konfig.ConfigDict({'a': 1, 'b': 2})\n"
    assert (
        from_command_line(WITH_ARGUMENTS, "--cfg.__args__.dataset_name=b").name == "b"
    )
    assert dict(from_command_line(file, "--cfg.a=3 --cfg.b=4")) == {"a": 3, "b": 4}
