"""Pasted tracebacks: the script finds what book.answers finds."""

import pytest

from book.answers import Answer, best

ANSWERS = [
    Answer("no attributes/key: '…'", "a-key"),
    Answer("could not find … in … object", "a-find"),
    Answer("could not find", "a-short"),
    Answer("got (1+1) [x] \\d {y} $ ^ * ?", "a-signs"),
    Answer("… stands at both ends …", "a-ends"),
    Answer("🜁 and 🜂 are … points", "a-code-points"),
]
TEXTS = [
    "KeyError: no attributes/key: 'x'",
    "KeyError: 'no attributes/key: \\'x\\''",
    "could not\n    find 'a.b' in Batch object",
    "could not find this\n" + 301 * "x" + " in Batch object",
    "could not find it, then no attributes/key: 'y'",
    "\x1b[31mcould not\x1b[0m find\xa0x\tin\r\ny object",
    "got (1+1) [x] \\d {y} $ ^ * ?",
    "what stands at both ends, and more",
    "🜁 and 🜂 are 🜃🜃 points",
    "🜁 and 🜂 are " + 300 * "🜃" + " points",
    "🜁 and 🜂 are " + 301 * "🜃" + " points",
    "COULD NOT FIND",
    "nothing of the kind",
    "",
]
BEST = """
([text, patterns]) =>
  bookMatching.best(text, patterns.map((pattern) => ({ answers: [pattern] })))
    .map(({ id }) => id)
"""


@pytest.fixture(scope="module")
def matching(browser, addresses):
    page = browser.new_page()
    page.goto(f"{addresses['server']}/search.html")
    yield lambda text, patterns: page.evaluate(BEST, [text, patterns])
    page.close()


@pytest.mark.parametrize("text", TEXTS)
def test_the_script_follows_the_rule(text, matching):
    found = matching(text, [answer.pattern for answer in ANSWERS])
    assert [ANSWERS[id] for id in found] == best(text, ANSWERS)


def test_the_texts_are_of_all_kinds():
    numbers = {len(best(text, ANSWERS)) for text in TEXTS}
    assert numbers >= {0, 1, 2}
    assert {answer for text in TEXTS for answer in best(text, ANSWERS)} == {*ANSWERS}
