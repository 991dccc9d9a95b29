"""Numbers are held: each rule on a small bad page, and what is a number at all."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from book.claims import constants
from book.numbers import EXCEPTIONS, code_numbers, numbers, stands_in
from tests.book.front import FRONT

PAGE = (
    FRONT
    + """(index)=
# A chapter in 12 parts

```{code-cell} python
---
mystnb:
  image:
    alt: The loss falls from its start to 7 in the end.
  figure:
    caption: A caption with 0.25 in it.
---
from matplotlib.figure import Figure
from snippets.showing import Picture

steps = 200
print("loss", 0.125, "at", steps)
figure = Figure()
figure.subplots().plot([1, 2])
Picture(figure, "a line")
```

```{code-cell} python
:tags: [remove-cell]

from myst_nb import glue

glue("steps", str(steps), display=False)
```

(index-typed)=
## Typed figures

Plain it is 0.125, and
one line on it is 200 steps.

A [link to 31 things](#index), *14* in emphasis, 1*5* across it.

Large, 1,000 or 1 000; a power, 1e-3; a share, 5 %; a range,
2\N{EN DASH}4; a part, 3/4.

Others write ٣٠, ½ and \N{MINUS SIGN}0.5.

:::{admonition} Note 42
Within are 43.
:::

A term
: Defined by 44.

> Quoted: 45.

A footnote[^note].

[^note]: It says 46.

| so many | and |
|---|---|
| one | two |
| 47 | 48 |

Pasted, {glue:text}`steps` of them; {ref}`a title with 49 <index>`.

```{figure} https://example.org/a.png
:alt: A picture of the number 6, with bars.

A caption with 51.
```

% invisible-code-block: python
%
% assert steps == 200

(index-spans)=
## Code spans

`steps = 200` is shown, `steps = 20` is not, `loss 0.125` was printed.

```sh
make html PAGE=200
make html PAGE=99
```

% invisible-code-block: python
%
% assert steps == 200

(index-words)=
## Words

There are two hundred steps, and two more; it took seven minutes, and 3 tries.
Half of it.

% invisible-code-block: python
%
% assert steps == 200

(index-none)=
## Without a claim

Two runs, or three.

(index-next)=
## Next

```{toctree}
:caption: The first 52

A page of 53 <other>
```
"""
)

TYPED = "was typed; paste it with {glue:text}"
EXPECTED = [
    ("# A chapter in 12", "the figure '12' in a heading was typed"),
    ("mystnb:", "the figure '7' in an alt text"),
    ("mystnb:", "the figure '0.25' in a caption was typed"),
    ("Plain it is", f"the figure '0.125' in running text {TYPED}"),
    ("one line on", f"the figure '200' in running text {TYPED}"),
    ("A [link", "the figure '31'"),
    ("A [link", "the figure '14'"),
    ("A [link", "the figure '15'"),
    ("Large", "the figure '1,000'"),
    ("Large", "the figure '000'"),
    ("Large", "asserts the number '1'"),
    ("Large", "the figure '1e-3'"),
    ("Large", "the figure '5 %'"),
    ("2\N{EN DASH}4", "the figure '2\N{EN DASH}4'"),
    ("2\N{EN DASH}4", "the figure '3/4'"),
    *(("Others", f"the figure {figure!r}") for figure in ("٣٠", "½", "0.5")),
    (":::{admonition}", "the figure '42'"),
    ("Within", "the figure '43'"),
    (": Defined", "the figure '44'"),
    ("> Quoted", "the figure '45'"),
    ("[^note]:", "the figure '46'"),
    ("| 47", "the figure '47' in a table cell"),
    ("| 47", "the figure '48' in a table cell"),
    ("Pasted", "the figure '49'"),
    ("```{figure}", "the figure '6' in an alt text"),
    ("A caption with 51", "the figure '51' in a caption"),
    ("`steps = 200`", "the code span 'steps = 20' holds a number"),
    ("```sh", "the number '99' in a typed block"),
    (
        "There are",
        "asserts the number 'seven'; write one with 7",
    ),
    ("There are", "no claim of this section asserts the number '3'"),
    ("Two runs", "the number 'Two' in a section without a claim"),
    ("Two runs", "the number 'three' in a section without a claim"),
    ("```{toctree}", "the figure '52' in a caption"),
    ("```{toctree}", "the figure '53' in a caption"),
]


@pytest.fixture(scope="module")
def complaints(refused):
    said, _ = refused({"index": PAGE, "other": f"{FRONT}(other)=\n# Other\n"})
    return [line for line in said if "[book.number]" in line]


def line_of(start: str) -> int:
    (line,) = [
        n for n, t in enumerate(PAGE.splitlines(), 1) if t.strip().startswith(start)
    ][:1]
    return line


@pytest.mark.parametrize(("line", "message"), EXPECTED)
def test_a_breach_is_named_with_file_and_line(line, message, complaints):
    here = [c for c in complaints if c.startswith(f"index.md:{line_of(line)}:")]
    assert any(message in c for c in here), complaints


def test_nothing_else_is_complained_of(complaints):
    assert len(complaints) == len(EXPECTED), complaints


@pytest.mark.parametrize(
    "text",
    ["one step", "x86-64", "google/grain #1361", "L2", "the third", "no number"],
)
def test_what_is_no_number(text):
    assert numbers(text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("two hundred and one steps", 201),
        ("a thousand", 1000),
        ("seventy-five", 75),
        ("Nine tenths", 0.9),
        ("a dozen", 12),
        ("hundreds", 100),
        ("step 0", 0),
        ("3x", 3),
    ],
)
def test_a_number_word_has_a_value(text, value):
    (number,) = numbers(text)
    assert number.values == {value}


@pytest.mark.parametrize("text", ["two", "Half", "twice"])
def test_a_word_that_mostly_counts_what_was_named_needs_any_claim(text):
    (number,) = numbers(text)
    assert number.values == set()


@given(
    st.decimals(0, 10**6, places=2).map(str),
    st.sampled_from(["", "≈", "(", "-", "\N{MINUS SIGN}"]),
)
def test_every_decimal_is_a_figure(figure, before):
    (number,) = numbers(f"about {before}{figure}, it says", figures_only=True)
    assert (number.text, number.values) == (figure, None)


@given(st.text())
def test_every_character_that_is_a_number_is_found(text):
    found = numbers(text, figures_only=True)
    assert all(text[n.at : n.at + len(n.text)] == n.text for n in found)
    if re.search(r"\d\d", text) and not any(re.search(e, text) for e in EXCEPTIONS):
        assert any(n.values is None for n in found)


@given(st.integers(10, 10**6))
def test_a_number_in_a_code_span_is_whole(number):
    assert stands_in(f"n={number}", f"f(n={number})")
    assert not stands_in(f"n={number}", f"f(n={number}0)")
    assert not stands_in(f"{number}", f"f(n=0{number})")
    assert not stands_in(f"{number}", f"f(n={number}.5)")
    assert code_numbers(f"f(n={number}, x{number})") == {str(number)}


def test_only_assertions_assert_numbers():
    source = "n = 3\nif n == 4:\n    pass\nassert n == 5 and -0.5 < n, 6"
    assert constants(source) == {5, 0.5, -0.5}
    assert constants("assert n is True") == set()


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_every_exception_is_needed(name, root):
    pages = (path.read_text("utf-8") for path in (root / "docs").glob("*.md"))
    assert any(re.search(name, page) for page in pages), "no page needs it any more"
