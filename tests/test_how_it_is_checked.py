"""The small page that is refused, and the figures of the lies."""

import pytest

from book import demonstration
from snippets.how_it_is_checked import bars, lies_told

KINDS = {"a cell": [3, 4], "upstream": [2, 2], "no lie": [0, 10]}


def test_each_complaint_names_its_line():
    said = demonstration.complaints("\nFine.\n\n0.25 is typed.\n\nSo is 30 %.\n")
    assert [line.split(":")[:2] for line in said.splitlines()] == [
        ["page.md", "6"],
        ["page.md", "8"],
    ]


def test_a_build_that_fails_is_no_silence(monkeypatch, tmp_path):
    monkeypatch.setattr(demonstration, "ROOT", tmp_path)
    with pytest.raises(RuntimeError, match=r"conf\.py"):
        demonstration.complaints("\nWords.\n")


def test_the_table_counts_what_the_record_counts():
    lines = lies_told({"kinds": KINDS, "equivalent": 7}).splitlines()
    assert [line.split()[-2:] for line in lines[1:4]] == [
        ["3", "4"],
        ["2", "2"],
        ["0", "10"],
    ]
    assert lines[-1].split()[-1] == "7"


def test_the_bars_leave_out_the_honest_runs():
    (axes,) = bars({"kinds": KINDS, "equivalent": 0}).figure.axes
    widths = [patch.get_width() for patch in axes.patches]
    assert widths == [2, 4, 2, 3]  # told, then caught, from below
