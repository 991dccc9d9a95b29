"""Pasted figures and labels: what is amiss is named with file and line."""

import pytest

from tests.book.front import FRONT

PAGES = {
    "index": FRONT
    + """(index)=
# The figure {glue:text}`in a heading` is pasted

```{code-cell} python
from myst_nb import glue

glue("in a heading", "1.5", display=False)
glue("in a sentence", "2.5", display=False)
glue("nowhere", "3.5", display=False)
```

```{code-cell} python
:tags: [remove-cell]

for name in ("looped", "looped too"):
    glue(name, "4.5", display=False)
```

Words, and on the line
behind them {glue:text}`misspelt`.

| a | table |
|---|---|
| with {glue:text}`in a sentence` | {glue:text}`looped` |
| with | {glue:text}`missing` |

From {glue:text}`other.md::there` it comes.

As {glue:md}`in a sentence` and {glue}`in a sentence`.

```{glue} in a sentence
```

(index-twice)=
## Once

```{toctree}
other
```
""",
    "other": FRONT
    + """(other)=
# Other

```{code-cell} python
from myst_nb import glue

glue("there", "5.5", display=False)
```

{glue:text}`there`

(index-twice)=
## Twice

Words.

(other-twice)=
## Once here

Words.

(other-twice)=
## Twice here

Words.
""",
}

EXPECTED = [
    ("index", "# The figure", None),
    ("index", 'glue("in a heading"', None),
    ("index", 'glue("in a sentence"', None),
    ("index", 'glue("nowhere"', "'nowhere' is pasted nowhere on this page"),
    ("index", "    glue(name", "'looped too' is pasted nowhere on this page"),
    ("index", "behind them", "no cell of this page makes 'misspelt'"),
    ("index", "| with {glue", None),
    ("index", "| with |", "no cell of this page makes 'missing'"),
    ("index", "From {glue", "'other.md::there' is of another page"),
    ("index", "As {glue:md}", "paste text, ready for the sentence"),
    ("index", "```{glue}", "paste text, ready for the sentence"),
    ("other", "{glue:text}", None),
    ("other", "## Twice", "duplicate label index-twice, other instance in index.md"),
]


@pytest.fixture(scope="module")
def complaints(refused):
    return refused(PAGES)[0]


def test_a_label_that_is_twice_on_a_page_is_named(complaints):
    lines = PAGES["other"].splitlines()
    second = len(lines) - lines[::-1].index("(other-twice)=")
    twice = f'other.md:{second}: WARNING: Duplicate explicit target name: "other-'
    assert any(twice in line for line in complaints)


def line_of(page: str, start: str) -> int:
    lines = PAGES[page].splitlines()
    return next(n for n, text in enumerate(lines, 1) if text.startswith(start))


@pytest.mark.parametrize(("page", "start", "message"), EXPECTED)
def test_a_breach_is_named_with_file_and_line(page, start, message, complaints):
    place = f"{page}.md:{line_of(page, start)}:"
    said = [c for c in complaints if c.startswith(place)]
    if message is None:
        assert said == []
    else:
        assert any(message in c for c in said), complaints
