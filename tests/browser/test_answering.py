"""Pasted tracebacks: the script finds what book.answers finds, on the page too."""

import json
import re

import pytest

from book.answers import Answer, best
from tests.browser.waiting import until

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


def test_each_output_of_the_book_leads_where_python_leads(matching, built, root):
    index = json.loads((built[1] / "html" / "sections.json").read_text("utf-8"))
    answers = [
        Answer(pattern, section["label"])
        for section in index["sections"]
        for pattern in section["answers"]
    ]
    kept = (root / "tests/transcripts/errors.txt").read_text("utf-8")
    texts = re.split(r"^## [\w-]+, cell \d+\n", kept, flags=re.M)[1:]
    assert len(answers) > 30 < len(texts)
    for text in texts:
        found = matching(text, [answer.pattern for answer in answers])
        assert [answers[id] for id in found] == best(text, answers)


PASTED = """Traceback (most recent call last):
  File "/home/me/train.py", line 7, in <module>
    trainer = konfig.resolve(cfg)
  File "/usr/lib/python3.12/somewhere.py", line 1, in resolve
    return fn(*args, **kwargs)
ModuleNotFoundError: No module named 'ipywidgets'
"""


@pytest.mark.parametrize("where", ["server", "disk"])
def test_the_field_leads_to_the_entry_and_sends_nothing(where, browser, addresses):
    page = browser.new_page()
    page.goto(f"{addresses[where]}/errors.html", wait_until="load")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    field = page.get_by_label("Paste a traceback")
    field.fill(PASTED)
    first = page.locator(".find-by-message li a").first
    first.wait_for()
    assert first.get_attribute("href") == "errors.html#errors-ipywidgets"
    field.fill("all went well")
    until(page, "!document.querySelector('.find-by-message li')")
    assert "No message of this book" in page.locator(".find-by-message p").inner_text()
    files = sorted(url.rpartition("/")[2] for url in asked)
    assert files == ["matching.js", "sections.js"]
    page.close()


def test_without_a_script_there_is_no_field(browser, addresses):
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(f"{addresses['server']}/errors.html")
    assert not page.locator(".find-by-message").is_visible()
    page.context.close()
