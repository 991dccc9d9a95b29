"""A few of the lies of ``make mutants``; and the harness itself tells the truth."""

import collections
import dataclasses
import os
import re
import subprocess
import sys

import pytest

from book.cells import ROOT, pages
from tests.mutants import judge as judging
from tests.mutants.lies import KINDS, changes, lies


@pytest.fixture(scope="module")
def told():
    return lies()


@pytest.fixture(autouse=True)
def no_forks(monkeypatch):
    """Judge in a new Python: this one may have threads of JAX, and forks would hang."""
    monkeypatch.setattr(judging, "_in_a_fork", judging._in_a_new_python)


def test_a_few_lies_are_caught(built):
    run = subprocess.run(
        [sys.executable, "-m", "tests.mutants", "--sample"],
        cwd=ROOT,
        # Pages that the build of the tests has executed are not run again.
        env=os.environ | {"BOOK_STORE_OF_TESTS": os.environ["BOOK_STORE"]},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    counted = re.findall(r"^(\S.*?)  +(\d+)  +(\d+)$", run.stdout, re.M)
    by_kind = {kind: (int(caught), int(n)) for kind, caught, n in counted}
    assert by_kind.pop("no lie") == (0, 1)
    assert set(by_kind) == set(KINDS)
    assert all(caught == n > 0 for caught, n in by_kind.values())
    assert sum(n for _, n in by_kind.values()) >= 15


def test_there_are_enough_lies_and_few_of_the_easy_ones(told):
    counts = collections.Counter(lie.kind for lie in told)
    assert counts == KINDS
    assert sum(counts.values()) >= 150
    easy = ("a number in prose", "a name in prose", "a word of a quoted message")
    assert sum(counts[kind] for kind in easy) <= sum(counts.values()) / 3
    assert {lie.page for lie in told} == set(pages())


def test_the_same_lies_are_told_each_time(told):
    assert lies() == told
    assert len({lie.name for lie in told}) == len(told)


def test_each_lie_changes_its_file_in_one_place(told):
    for lie in told:
        if lie.kind in ("upstream", "a deleted page", "stale output"):
            continue
        whole = (ROOT / lie.path).read_text("utf-8")
        assert lie.text != whole
        assert len(lie.text) - len(whole) == len(lie.after) - len(lie.before)
        assert lie.before in whole.split("\n", lie.line - 1)[-1]


def test_a_kind_with_too_few_places_is_no_secret():
    with pytest.raises(AssertionError, match="places, 999 wanted"):
        lies({"a deleted page": 999})


def test_a_run_of_nothing_is_no_verdict(told, monkeypatch, tmp_path):
    monkeypatch.setattr(judging, "tests_of", lambda lie: ["tests/building.py"])
    claim = next(lie for lie in told if lie.kind == "a claim")
    with pytest.raises(judging.Broken, match="pytest ended with 5"):
        judging.judge(claim, tmp_path)


def test_what_never_ends_is_not_green(told, monkeypatch, tmp_path):
    monkeypatch.setattr(judging, "PATIENCE", 0.0)
    claim = next(lie for lie in told if lie.kind == "a claim")
    verdict = judging.judge(claim, tmp_path)
    assert verdict.caught
    assert verdict.by == "status -14"


def test_a_lie_about_no_page_is_refused(told):
    lie = dataclasses.replace(told[0], kind="a cell", page="nope")
    with pytest.raises(judging.Broken, match="nothing tests"):
        judging.tests_of(lie)


def test_code_is_changed_and_stays_code():
    code = "def f(x=3):\n    return x % 2 == 0 and not x < 0.5 or None"
    for start, stop, after in changes(code):
        changed = code[:start] + after + code[stop:]
        compile(changed, "", "exec")
        assert changed != code
