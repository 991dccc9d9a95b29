"""Messages that sections answer: each is printed there, and is found when pasted."""

import itertools
import json
import traceback

import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from book.answers import GAP, Answer, best, matches, plain, read
from book.reading import unexecuted
from tests.book.front import FRONT

PAGE = (
    FRONT
    + """(index)=
# Messages

```{code-cell} python
print("cannot find 'key'\\n   in a box of 3 things")
```

```{answers}
cannot find '…' in a box of … things
```

(index-wrong)=
## Wrong ones

```{code-cell} python
print("no such key here")
```

```{answers}

cannot find '…' in a box
no … key
no such  key
no such key
```

```{answers}
:recorded: etils-prng

module 'jax._src' has no attribute '…'
module 'jax._src' has no attribute 'dtypes'
```

```{answers}
:recorded: never-measured
no such record
```

```{answers}
```

(index-hidden)=
## Hidden

```{code-cell} python
:tags: [remove-cell]

print("nobody reads this")
```

```{answers}
nobody reads this
```

(index-below)=
## Below

```{answers}
printed one deeper
```

(index-deeper)=
### Deeper

```{code-cell} python
print("printed one deeper")
```
"""
)

# By the line of the page: the first that begins so, and what is said of it.
WRONG = {
    "no … key": "has fewer than 8 characters of its own, which may stand anywhere",
    "no such key\n": "is answered by index-wrong already",
    "module 'jax._src' has no attribute 'dtypes'": (
        "stands nowhere in snippets/recorded/etils-prng.json"
    ),
    "no such record": "there is no snippets/recorded/never-measured.json",
    "nobody reads this\n": "is printed by no cell of its section",
    "printed one deeper\n": "is printed by no cell of its section",
}


@pytest.fixture(scope="module")
def bad(refused):
    said, out = refused({"index": PAGE})
    return said, (out / "html" / "index.html").read_text("utf-8")


def test_a_breach_is_named_with_file_and_line(bad):
    said = [line for line in bad[0] if "[book.answer]" in line]
    for begins, message in WRONG.items():
        number = 1 + PAGE[: PAGE.index(f"\n{begins}") + 1].count("\n")
        assert any(
            line.startswith(f"index.md:{number}: ") and message in line for line in said
        ), (begins, number, said)
    # The message of the first section, which the cell of the second does not print.
    (elsewhere,) = [line for line in said if 'in a box" is printed by no' in line]
    number = PAGE.splitlines().index("cannot find '…' in a box") + 1
    assert elsewhere.startswith(f"index.md:{number}: ")
    assert len(said) == len(WRONG) + 1


def test_a_block_without_a_message_is_refused(bad):
    (number,) = [
        n
        for n, pair in enumerate(itertools.pairwise(PAGE.splitlines()), 1)
        if pair == ("```{answers}", "```")
    ]
    assert any(
        line.startswith(f"index.md:{number}: ") and "Content block expected" in line
        for line in bad[0]
    ), bad[0]


def test_readers_do_not_see_the_block(bad):
    article = BeautifulSoup(bad[1], "html.parser").article.get_text()
    assert "no such key here" in article and "no such  key" not in article
    assert "jax._src" not in article and "answers" not in article


def test_the_answers_of_a_page_are_read_without_running_it(tmp_path):
    (tmp_path / "index.md").write_text(PAGE, "utf-8")
    with unexecuted(tmp_path) as doctrees:
        found = [answer for _, answer in read(doctrees["index"])]
    assert found[0] == Answer("cannot find '…' in a box of … things", "index")
    assert Answer("no such record", "index-wrong", "never-measured") in found
    assert len({answer.section for answer in found}) == 4


@pytest.mark.parametrize(
    ("pattern", "text", "own"),
    [
        ("no such key", "KeyError: no such key", 9),
        ("no such key", "KeyError: no such\n    key", 9),
        ("no such key", "KeyError: no su\nch key", 9),
        ("no such key", "KeyError: 'no such\\nkey'", 9),
        ("it's '…'", "KeyError: 'it\\'s \\'x\\''", 6),
        ("no such key", "\x1b[0;31mno such\x1b[1m key", 9),
        ("no such key", "No such key", 0),
        ("no such key", "no such", 0),
        ("a … b … c", "a 1 b 2 c", 3),
        ("a … b … c", "abc", 3),
        ("a … b … c", "a c b", 0),
        ("… b …", "a b", 1),
        ("f(…) [x]", "f(.) [x]", 6),
        ("a … b", "a" + "." * GAP + "b", 2),
        ("a … b", "a" + "." * (GAP + 1) + "b", 0),
        ("a … b", "a a" + "." * GAP + "b", 2),
        ("…", "anything", 0),
    ],
)
def test_the_rule(pattern, text, own):
    assert matches(pattern, text) == own


def test_the_longest_comes_first_and_then_the_last():
    short, long = Answer("no such key", "short"), Answer("no such key: …, in …", "long")
    other = Answer("no such box", "other")
    text = "no such key: 'a', in b\nno such box\n"
    assert best(text, [short, other, long]) == [long, other, short]
    assert best(text + "no such key", [short, other, long]) == [long, short, other]
    assert best("nothing of the kind", [short, other, long]) == []


def test_of_equal_ones_the_order_stays():
    one, other = Answer("no such …", "one"), Answer("no … such", "other")
    assert best("no such such", [one, other]) == [one, other]
    assert best("no such such", [other, one]) == [other, one]


@given(st.text(), st.text(), st.text())
def test_a_piece_of_a_text_stands_in_it(before, piece, after):
    piece = piece.replace("…", "")
    assert matches(piece, before + " " + piece + " " + after) == len(plain(piece))


@given(st.text("at'\\n …\x1b[1;m"))
def test_a_message_is_found_in_itself(text):
    text = text.replace("…", "")
    assert matches(text, text) == len(plain(text))


def test_a_long_traceback_is_searched_at_once():
    try:
        json.loads("{" * 50_000)
    except Exception:
        text = traceback.format_exc() * 20
    many = [Answer("File … line … in … raise … {i}", str(i)) for i in range(200)]
    assert best(text + "a b " * 5_000, many) == []
