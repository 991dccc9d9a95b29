"""Snippets that no page uses or no test runs, shown failing with file and line."""

import pytest

from tests.book.front import FRONT

PAGE = (
    FRONT
    + """(index)=
# A page

```{literalinclude} ../snippets/shown.py
:language: python
:pyobject: run_by_an_example
```

```{literalinclude} ../snippets/shown.py
:language: python
:pyobject: run_by_another
```

```{literalinclude} ../snippets/shown.py
:language: python
:pyobject: Kept.never_run
```

```{code-cell} python
def later():  # the kernel has the snippets of the repository, not of this copy
    import snippets.imported
```
"""
)

SHOWN = '''"""Shown on a page."""


def run_by_an_example(x: int) -> int:
    """Return one more.

    >>> run_by_an_example(1)
    2
    """
    return run_by_another(x)


def run_by_another(x: int) -> int:
    """Return one more."""
    return x + 1


class Kept:
    """Never made."""

    def never_run(self) -> None:
        """Do nothing."""
'''


@pytest.fixture(scope="module")
def complaints(copy_of_book, build, tmp_path_factory) -> list[str]:
    copy = copy_of_book()
    for name, text in {"shown": SHOWN, "imported": "", "lonely": ""}.items():
        (copy / "snippets" / f"{name}.py").write_text(text, "utf-8")
    (copy / "bad").mkdir()
    (copy / "bad" / "index.md").write_text(PAGE, "utf-8")
    run = build(copy, tmp_path_factory.mktemp("out"), docs="bad")
    assert run.returncode == 1
    return run.stderr.replace(f"{copy}/", "").splitlines()


def test_a_shown_snippet_that_no_test_runs_is_named(complaints):
    found = [line for line in complaints if "no test runs" in line]
    line = PAGE.splitlines().index(":pyobject: Kept.never_run") - 1
    assert len(found) == 1
    assert found[0].startswith(
        f"bad/index.md:{line}: WARNING: no test runs 'Kept' of snippets/shown.py"
    )


def test_a_module_that_no_page_shows_or_imports_is_named(complaints):
    found = {line.split(":")[0] for line in complaints if "no page shows" in line}
    assert "snippets/lonely.py:1: WARNING: no page shows or imports this module" in (
        "\n".join(complaints)
    )
    assert not {"snippets/shown.py", "snippets/imported.py"} & found
