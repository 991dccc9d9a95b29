"""Each rule for pages, shown failing on a bad page with the right file and line."""

import pytest

from tests.book.front import FRONT

PAGES = {
    "index": FRONT
    + """(index)=
# Fine

A link to a place that [does not exist](#bad-nowhere).

## No label

Words.

(other-label)=
## A label of another page

{glue:text}`nobody made this`

```python
nobody_runs_this = 1
```

```sh
make html
```

![](picture.png)

<b>Nobody reads</b> this.
""",
    "plain": """(plain)=
# Not a notebook

```{code-cell} python
1 / 0
```
""",
}

EXPECTED = {
    "index": {
        "# Fine": None,
        "A link to a place": "cross-reference target not found: 'bad-nowhere'",
        "## No label": "the heading 'No label' has no label; write (index-…)= above it",
        "## A label of another page": "'A label of another page' has no label",
        "{glue:text}": "'nobody made this'",
        "```python": "Python that nothing runs",
        "```sh": None,
        "![](picture.png)": "a picture needs an alt text",
        "<b>": "HTML that no check reads: '<b>'; write Markdown",
    },
    "plain": {"```{code-cell} python": "Found an unexpected `code-cell`"},
}


@pytest.fixture(scope="module")
def complaints(refused):
    return refused(PAGES)[0]


@pytest.mark.parametrize(
    ("page", "line", "message"),
    [
        (page, line, message)
        for page, rules in EXPECTED.items()
        for line, message in rules.items()
    ],
)
def test_a_breach_is_named_with_file_and_line(page, line, message, complaints):
    numbers = [
        n for n, text in enumerate(PAGES[page].splitlines(), 1) if text.startswith(line)
    ]
    said = [c for c in complaints if c.startswith(f"{page}.md:{numbers[0]}:")]
    if message is None:
        assert said == []
    else:
        assert any(message in c for c in said), complaints
