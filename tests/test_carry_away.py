"""What the chapter *carry-away* sums up is what the chapters' code gives today."""

import re

import pytest

from book.cells import DOCS
from snippets import carry_away
from snippets.install import recorded


@pytest.mark.parametrize("name", carry_away.RESULTS)
def test_the_record_is_the_run(name):
    assert recorded("results")[name] == carry_away.RESULTS[name](), "run: make results"


def test_the_record_holds_nothing_else():
    assert set(recorded("results")) == set(carry_away.RESULTS)


def test_every_figure_of_a_result_is_shown_or_not_a_figure():
    text = (DOCS / "carry-away.md").read_text("utf-8")
    pasted = set(re.findall(r"\{glue:text\}`([^`]+)`", text))
    figures = {
        f"{name} {figure}"
        for name, result in recorded("results").items()
        for figure, value in result.items()
        if isinstance(value, str) and re.search(r"\d", value)
    }
    unused = {"refs_follow frozen"}  # asserted, but not printed
    assert figures - pasted <= unused
