"""Each section holds a claim, and each claim can fail."""

import pytest

from book.cells import DOCS, pages
from book.claims import WITHOUT, empty_claim, without_claim
from tests.book.front import FRONT

PAGE = (
    FRONT
    + """(index)=
# Fine

```{code-cell} python
x = 1
```

(index-held)=
## Held

It is one.

% invisible-code-block: python
%
% assert x == 1

(index-bare)=
## Bare

It is said.

(index-part)=
### Its part is held

% invisible-code-block: python
%
% assert x > 0

(index-empty)=
## Empty

% invisible-code-block: python
%
% y = x

(index-constant)=
## Constant

% invisible-code-block: python
%
% assert x
% assert True

(index-broken)=
## Broken

% invisible-code-block: python
%
% assert x
% assert (

(index-misspelt)=
## Misspelt

% invisible-code-blok: python
%
% assert x == 1

(index-next)=
## Next

Nowhere.
"""
)

# The beginning of a line, how far above it the breach is, and the message.
EXPECTED = [
    ("## Bare", 0, "the section 'Bare' has no claim"),
    ("% y = x", 2, "a claim asserts nothing; write an `assert`, or `raises`"),
    ("% assert True", 0, "a claim asserts nothing: no run can make `True` false"),
    ("% assert (", 0, "a claim is no Python"),
    ("% invisible-code-blok", 0, "a comment that nothing runs"),
    ("## Misspelt", 0, "the section 'Misspelt' has no claim"),
]


@pytest.fixture(scope="module")
def complaints(refused):
    return [line for line in refused({"index": PAGE})[0] if "[book.claim]" in line]


@pytest.mark.parametrize(("line", "above", "message"), EXPECTED)
def test_a_breach_is_named_with_file_and_line(line, above, message, complaints):
    (number,) = [n for n, t in enumerate(PAGE.splitlines(), 1) if t.startswith(line)]
    here = [c for c in complaints if c.startswith(f"index.md:{number - above}:")]
    assert any(message in c for c in here), complaints


def test_nothing_else_is_complained_of(complaints):
    assert len(complaints) == len(EXPECTED), complaints


@pytest.mark.parametrize(
    "source",
    [
        "assert True",
        "assert 1 + 1 == 2",
        "assert x == x",
        "assert (x, 'always true')",
        "assert x or True",
        "assert lambda: x",
        "y = 3\nassert y == 3",
        "assert 'text'",
        "f(x)",
        "try:\n    f()\nexcept KeyError as error:\n    assert error.args",
        "with open(x):\n    pass",
        "",
    ],
)
def test_what_cannot_fail_is_no_claim(source):
    assert empty_claim(source) is not None


@pytest.mark.parametrize(
    "source",
    [
        "assert x",
        "assert x == 1 and y",
        "for n in (1, 2):\n    assert f(n) == n",
        "y = f(3)\nassert y == 3",
        "with raises(ValueError):\n    f()",
        "with showing.raises(ValueError, lines=1), other():\n    f()",
        "with refused():\n    f()",
        "try:\n    f()\nexcept KeyError:\n    pass\nelse:\n    assert False",
        "try:\n    raise KeyError(x)\nexcept KeyError as error:\n    assert error.args",
        "seen = []\nf(seen)\nassert seen == [1]",
        "y = 3\nif f():\n    y = f()\nassert y == 3",
    ],
)
def test_what_can_fail_is_a_claim(source):
    assert empty_claim(source) is None


@pytest.mark.parametrize("name", WITHOUT)
def test_every_section_that_may_do_without_is_there(name):
    labels = [
        line[1:-2]
        for page in pages()
        for line in (DOCS / f"{page}.md").read_text("utf-8").splitlines()
        if line.startswith("(") and line.endswith(")=")
    ]
    reasons = {without_claim(label) for label in labels}
    assert WITHOUT[name] in reasons, "no section needs it any more"
