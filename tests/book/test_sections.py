"""The one index: what it holds, and what `make link` makes of it."""

import json
import os
import subprocess
import sys

import pytest

from book import link


@pytest.fixture(scope="module")
def index(built):
    return json.loads((built[1] / "html" / "sections.json").read_text("utf-8"))


def section(index, label: str) -> dict:
    (found,) = (each for each in index["sections"] if each["label"] == label)
    return found


def test_it_has_every_section_that_is_published(index, built):
    addresses = {
        f"{each['page']}.html#{label}"
        for each in index["sections"]
        for label in (each["label"], *each["labels"])
    }
    published = (built[1] / "anchors.txt").read_text("utf-8").split()
    assert addresses == {each for each in published if "#" in each}


def test_a_section_has_its_words_code_and_names(index):
    found = section(index, "refs-frozen")
    assert found["page"] == "refs"
    assert found["title"] == "The same edit without a reference"
    assert found["chapter"] == "Change one number, everything follows"
    assert "the bad kind of error" in found["text"]
    assert "decay_steps=frozen.num_train_steps" in found["code"]
    assert "konfig.ConfigDict" in found["names"]
    # Neither claims nor what another section says.
    assert "invisible" not in found["text"] and "cfg.aux" not in found["text"]
    assert "assert " not in found["code"]


def test_figures_are_in_the_words_as_they_were_pasted(index, built):
    assert "9.806e-04" in section(index, "refs-frozen")["text"]


def test_the_script_holds_the_same(index, built):
    text = (built[1] / "html" / "sections.js").read_text("utf-8")
    start, end = "globalThis.bookSections = ", ";\n"
    assert text.startswith(start) and text.endswith(end)
    assert json.loads(text.removeprefix(start).removesuffix(end)) == index


@pytest.mark.parametrize(
    ("question", "address"),
    [
        ("refs-frozen", "refs.html#refs-frozen"),
        ("has no attribute 'prng'", "errors.html#errors-prng"),
        ("Mixing of ktyping and jaxtyping", "errors.html#errors-mixing-types"),
        ("get_by_path", "kontext.html"),
        ("copies", "refs.html#refs-copies"),
    ],
)
def test_the_best_address_comes_first(question, address, index):
    assert link.answers(question, index)[0][0].startswith(address)


def ask(question: str, built, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "book.link", "--index", str(built)],
        env=os.environ | {"Q": question} | environment,
        capture_output=True,
        text=True,
    )


def test_addresses_are_printed_with_titles(built):
    run = ask("refs-copies", built[1] / "html" / "sections.json")
    assert run.stdout.startswith("refs.html#refs-copies  Copies: which numbers")


@pytest.mark.parametrize(
    ("question", "message"),
    [("qqqq", "nothing in the book fits 'qqqq'"), (" ", "ask something")],
)
def test_no_answer_is_said(question, message, built):
    run = ask(question, built[1] / "html" / "sections.json")
    assert run.returncode == 1 and message in run.stderr and not run.stdout


def test_a_book_that_is_not_built_is_said(tmp_path):
    run = ask("refs", tmp_path / "none.json")
    assert run.returncode == 1 and "not built yet; make html" in run.stderr
