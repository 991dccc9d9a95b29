"""What kernels compile is handed to pytest, which runs the same cells."""

from book.running import COMPILED, run_pages, take_compiled
from tests.book.front import page

PAGE = page("import jax\n\nprint(jax.jit(lambda x: x + 1)(1))")


def files(folder) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_what_a_kernel_compiles_is_handed_on(monkeypatch, tmp_path):
    kept, mine = tmp_path / "kept", tmp_path / "mine"
    mine.mkdir()
    monkeypatch.setenv(COMPILED, str(kept))
    ((_, failure, _),) = run_pages({"docs/a.md": PAGE}, 1).values()
    assert failure is None
    take_compiled(mine)
    assert files(mine) == files(kept) != set()
    take_compiled(mine)  # they are there already


def test_without_a_folder_of_the_tests_nothing_is_kept(monkeypatch, tmp_path):
    monkeypatch.delenv(COMPILED)
    take_compiled(tmp_path)
    assert files(tmp_path) == set()
