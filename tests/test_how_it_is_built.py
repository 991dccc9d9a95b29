"""The tables and the drawing of the measured builds."""

import pytest

from book.bench_builds import TARGETS
from snippets.how_it_is_built import BARS, bars, compared, executed, measured
from snippets.install import recorded

SMALL = {
    "seconds": {"floor": 2.0} | {what: n + 1.0 for n, what in enumerate(BARS)},
    "compared": {"a ÷ b": 1.0, "c ÷ b": 2.0, "d ÷ b": 3.0},
    "targets": {"a ÷ b": 1.0, "c ÷ b": 1.9},
    "executed": {"cold": 12, "no change": 0},
    "pages": 12,
}


def test_only_what_is_above_its_target_is_called_missed():
    head, *lines = compared(SMALL).splitlines()
    assert head.split() == ["measured", "at", "most"]
    assert [line.split()[3:] for line in lines] == [
        ["1.00", "1.00"],
        ["2.00", "1.90", "missed"],
        ["3.00"],
    ]


def test_pages_are_counted_against_all_of_them():
    assert [line.split()[-3:] for line in executed(SMALL).splitlines()] == [
        ["12", "of", "12"],
        ["0", "of", "12"],
    ]


def test_the_bars_are_multiples_of_the_floor():
    (axes,) = bars(SMALL).figure.axes
    widths = [patch.get_width() for patch in axes.patches]
    assert widths[::-1] == [(n + 1) / 2 for n in range(len(BARS))]


@pytest.mark.parametrize("name", ["builds", "growth"])
def test_a_record_says_when_and_with_what_it_was_measured(name):
    record = recorded(name)
    first, second = measured(record).splitlines()
    assert record["measured"] in first and record["machine"] in first
    assert f"sphinx {record['versions']['sphinx']}" in second


@pytest.mark.parametrize("name", ["builds", "growth"])
def test_the_record_holds_what_the_page_draws(name):
    record = recorded(name)
    assert record["targets"].items() <= TARGETS.items()
    assert set(record["targets"]) <= set(record["compared"])
    if name == "builds":
        assert {"floor", *BARS} <= set(record["seconds"])


def test_both_records_come_from_the_same_code():
    assert set(TARGETS) == {
        what for name in ("builds", "growth") for what in recorded(name)["targets"]
    }
