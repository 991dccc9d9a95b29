"""Pages that ask for variables of their own get them, in the build and in pytest."""

import pytest

from book.cells import problems
from book.running import run_pages
from book.store import key
from tests.book.front import FRONT, page, small_project, texts

COUNT = page("import jax\nprint(jax.device_count())")
ASKS = FRONT.replace(
    "kernelspec:",
    "environment:\n  XLA_FLAGS: --xla_force_host_platform_device_count=8\nkernelspec:",
)


def test_a_kernel_has_the_variables_of_its_page_and_no_other():
    asks = COUNT.replace(FRONT, ASKS)
    results = run_pages({"asks": asks, "does-not": COUNT, "asks-too": asks}, 2)
    printed = {name: texts(notebook) for name, (notebook, _, _) in results.items()}
    assert printed == {"asks": ["8\n"], "does-not": ["1\n"], "asks-too": ["8\n"]}
    assert key(asks) != key(COUNT)


def test_pytest_runs_such_a_page_where_they_are_set(pytester, root):
    claims = """% invisible-code-block: python
%
% assert jax.device_count() == NUMBER
"""
    text = COUNT.replace(FRONT, ASKS) + "\n" + claims
    small_project(pytester, root, text.replace("NUMBER", "8"))
    result = pytester.runpytest_subprocess("docs/page.md")
    result.assert_outcomes(passed=1)
    (pytester.path / "docs" / "page.md").write_text(
        text.replace("NUMBER", "1"), "utf-8"
    )
    result = pytester.runpytest_subprocess("docs/page.md")
    result.assert_outcomes(failed=1)
    line = text.splitlines().index("% assert jax.device_count() == NUMBER") + 1
    result.stdout.fnmatch_lines([f"*page.md:{line}: AssertionError*"])


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "kernelspec:",
            "environment: [XLA_FLAGS]\nkernelspec:",
            "`environment` in the front matter: names and strings",
        ),
        (
            "kernelspec:",
            "environment:\n  OMP_NUM_THREADS: 2\nkernelspec:",
            "`environment` in the front matter: names and strings",
        ),
        (
            "name: python3",
            "name: mine",
            "a kernel 'mine', which no one else has, not 'python3'",
        ),
    ],
)
def test_what_no_kernel_could_have_is_refused(before, after, message):
    assert problems(COUNT) == []
    assert problems(COUNT.replace(before, after)) == [(1, message)]
