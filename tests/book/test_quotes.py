"""What is quoted in a sentence stands in what was run, word for word."""

import pytest

from book import quotes
from tests.book.front import FRONT

MESSAGE = "cannot find the 'key' of a box"

PAGE = (
    FRONT
    + """(index)=
# Quotations, with `steps = 3`

```{code-cell} python
from snippets.showing import raises

steps = 3
print("cannot find the 'key'\\n   of a box")
print({"image": "batch.image"})
```

% invisible-code-block: python
%
% in_a_claim = 1

A right one: `cannot find the 'key' of a box`, also a piece, `the 'key'`.

A word less: `cannot find 'key' of a box`.

Another word: `cannot find the 'key' of the box`.

Half a word: `step`.

Fine: `steps`, `batch.image`, `in_a_claim`, `raises`, `snippets/refs.py`.

Fine: `make html`, `TQDM_DISABLE=1`, `PYTHONPATH`, `ipywidgets`, `finally`, `tuple[…]`.

Nowhere: `snippets/ref.py`.

No target: `make htlm`.

Another value: `TQDM_DISABLE=2`.

No package: `ipywidget`.

A message that only a snippet could hold: `no KeyError was raised`.

Over two lines, and on the second of them
quotation marks: "cannot find the key".

Right, too: "cannot find the 'key'".

| a table | of messages |
|---|---|
| right | `of a box` |
| wrong | `of the box` |

A value that the cell does not have: {field}`~konfig.resolve.freeze=False`.

![It says "nothing that was run", but it is a picture](picture.png)
"""
)

WRONG = {
    "A word less": "`cannot find 'key' of a box` stands in no code and no output",
    "Another word": "`cannot find the 'key' of the box` stands in no",
    "Half a word": "`step` stands in no",
    "Nowhere": "`snippets/ref.py`",
    "No target": "`make htlm`",
    "Another value": "`TQDM_DISABLE=2`",
    "No package": "`ipywidget`",
    "A message that": "`no KeyError was raised`",
    "quotation marks": '"cannot find the key"',
    "| wrong": "`of the box`",
    "A value": "`freeze=False`",
}


@pytest.fixture(scope="module")
def said(refused):
    return [line for line in refused({"index": PAGE})[0] if "[book.quote]" in line]


@pytest.mark.parametrize("begins", WRONG)
def test_what_was_not_run_is_refused_with_file_and_line(begins, said):
    (number,) = [
        n for n, line in enumerate(PAGE.splitlines(), 1) if line.startswith(begins)
    ]
    here = [line for line in said if line.startswith(f"index.md:{number}: ")]
    assert len(here) == 1 and WRONG[begins] in here[0], said


def test_nothing_else_is_refused(said):
    assert len(said) == len(WRONG), said


def test_a_word_taken_out_of_the_middle_or_changed_is_noticed():
    words = MESSAGE.split()
    output = f"KeyError: {MESSAGE}, or so"
    assert quotes.stands_in(MESSAGE, output)
    for n in range(1, len(words) - 1):
        assert not quotes.stands_in(" ".join(words[:n] + words[n + 1 :]), output)
    for n, word in enumerate(words):
        changed = [*words[:n], word + "s", *words[n + 1 :]]
        assert not quotes.stands_in(" ".join(changed), output)


def test_a_quotation_may_be_broken_into_lines():
    assert quotes.stands_in(MESSAGE, MESSAGE.replace(" ", "\n    "))
    # A KeyError prints its message as a string.
    assert quotes.stands_in("Did you mean it?", repr("No x.\nDid you mean it?"))


KINDS = {
    "a file of the repository, which the reader can open": ("Makefile", "Makefiles"),
    "a target of the Makefile": ("make test", "make tests"),
    "an environment variable that the book sets or removes": (
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONDONTWRITE",
    ),
    "a package that is installed": ("zmq", "zmqs"),
    "a library, by its alias": ("jnp", "jnq"),
    "a word of Python": ("__call__", "__cal__"),
}


def test_each_kind_of_exception_is_checked():
    assert set(KINDS) == set(quotes.KINDS)
    for kind, (right, wrong) in KINDS.items():
        assert quotes.KINDS[kind](right) and not quotes.KINDS[kind](wrong), kind
