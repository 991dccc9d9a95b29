"""Notebooks to take away: they say what their page says, and run without the book."""

import ast
import copy
import os
import pathlib
import re
import subprocess
import sys
import types

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient
from packaging.requirements import Requirement

from book.cells import ROOT, cells, environment_of, made_from, pages
from book.environment import ENVIRONMENT
from book.pins import pins
from book.take_away import outputs
from tests.book.said import blocks, without_labels, words

# These show the book's own machinery at work, which is nowhere else.
WITHOUT = {"editions", "how-it-is-built", "how-it-is-checked"}
# Quick to run, and with hidden cells, pictures, errors and files between them.
SAMPLE = {"refs", "konfig"}
WITH = sorted(set(pages()) - WITHOUT)
FIRST = 3  # cells that are no part of the page


def path_of(page: str, built) -> pathlib.Path:
    return built[1] / "html" / "notebooks" / f"{page}.ipynb"


def read(page: str, built) -> nbformat.NotebookNode:
    return nbformat.read(path_of(page, built), as_version=nbformat.NO_CONVERT)


@pytest.fixture(params=WITH)
def page(request) -> str:
    return request.param


@pytest.fixture
def notebook(page, built) -> nbformat.NotebookNode:
    return read(page, built)


def test_each_page_has_one_unless_it_shows_the_machinery(built):
    made = (built[1] / "html" / "notebooks").glob("*.ipynb")
    assert {path.stem for path in made} == set(WITH)
    for page in WITHOUT:
        reached = made_from([cell.source for cell in cells(page)])
        assert any(path.is_relative_to(ROOT / "book") for path in reached)


def test_it_is_valid_and_has_ids_of_its_own(notebook):
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    assert notebook.metadata.kernelspec.name == "python3"


def test_it_says_what_its_page_says(page, notebook, built):
    text = (built[1] / "html" / f"{page}.html.md").read_text("utf-8")
    title, _, *rest = without_labels(text).split("\n\n")
    body = [block for block in rest if not block.startswith("Picture: ")]
    prose = [c.source for c in notebook.cells[FIRST:] if c.cell_type == "markdown"]
    assert words("\n\n".join(prose)) == words("\n\n".join([title, *body]))
    # What the page includes from a snippet stands there as code, and is not run.
    included = [block for source in prose for block in blocks(source)]
    assert set(included) <= set(blocks(text))
    directives = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    assert len(included) >= directives.count("{literalinclude}")


def test_its_cells_are_those_of_the_page_with_what_they_printed(page, notebook, built):
    kept = built[1] / "doctrees" / f"{page}.as-run.ipynb"
    run = [c for c in nbformat.read(kept, as_version=4).cells if c.cell_type == "code"]
    taken = [c for c in notebook.cells[FIRST:] if c.cell_type == "code"]
    if page == "carry-away":  # its figures are those of other pages
        run = [c for c in run if "glue(" not in c.source]
    assert len(run) == len(taken)
    for before, now in zip(run, taken, strict=True):
        if "glue(" not in before.source:
            assert now.source == before.source
        assert "glue" not in now.source and "import book" not in now.source
        assert printed(now) == printed(before)
        for output in now.outputs:
            assert output.get("name", "stdout") == "stdout"
            kinds = set(output.get("data", {}))
            assert kinds <= {"text/plain", "image/svg+xml"}
            if "image/svg+xml" in kinds:
                assert len(output.metadata["image/svg+xml"]["alt"]) > 40


def printed(cell) -> str:
    """Return what the page shows of a cell: in the boxes below it, or in sentences."""
    said = ""
    for output in cell.outputs:
        if glued := output.get("metadata", {}).get("scrapbook"):
            (text,) = output.data.values()
            said += f"{glued['name']}: {ast.literal_eval(text)}\n"
        elif output.get("name") != "stderr":
            said += output.get("text") or output.data["text/plain"]
    return said


def test_figures_are_computed_where_they_are_pasted(built):
    texts = [cell.source for cell in read("refs", built).cells]
    (at,) = [n for n, text in enumerate(texts) if "end of short" in text]
    assert texts[at].endswith(
        'print("end of long", f"{rates(long, (0.9,))[0]:.3e}", sep=": ")\n'
        'print("end of short", f"{rates(short, (0.9,))[0]:.3e}", sep=": ")'
    )
    assert texts[at - 1].startswith("from snippets.refs import config, table")
    assert texts[at + 1].startswith("Both runs come down")
    assert "3.015e-05 in the long run" in texts[at + 1]


def test_no_claim_is_taken_along(page, notebook, root):
    text = "\n".join(cell.source for cell in notebook.cells)
    for line in (root / "docs" / f"{page}.md").read_text("utf-8").splitlines():
        if line.startswith("% assert"):
            assert line.removeprefix("% ") not in text


def test_the_first_cells_say_where_it_is_from_and_write_what_it_needs(
    page, notebook, root
):
    origin, write, prepare = notebook.cells[:FIRST]
    assert "Kauldron, Executed" in origin.source and "kauldron 1.4.4" in origin.source
    for path in re.findall(r'^write\("(.*?)", ', write.source, re.M):
        if path != "requirements.txt":
            assert path.startswith("snippets/")
            assert (root / path).read_text("utf-8") in write.source
    lock = (root / "requirements.lock").read_text("utf-8")
    listed = write.source.partition("write(\"requirements.txt\", r'''")[2]
    lines = listed.removesuffix("''')").split("\n")[:-1]
    assert len(lines) > 100
    for line in lines:
        assert f"\n{line} \\\n" in lock
        (version,) = Requirement(line).specifier
        assert version.operator == "=="
    assert not {"ipython", "ipykernel", "sphinx"} & {Requirement(x).name for x in lines}
    text = (root / f"docs/{page}.md").read_text("utf-8")
    environment = ENVIRONMENT | environment_of(text)
    for name in ("JAX_PLATFORMS", "XLA_FLAGS", "TQDM_DISABLE"):
        assert f'"{name}": "{environment[name]}"' in prepare.source


@pytest.mark.parametrize("colab", [False, True])
def test_packages_are_installed_on_colab_and_nowhere_else(built, colab, monkeypatch):
    asked = []

    class Shell:
        def run_line_magic(self, *arguments):
            asked.append(arguments)

    monkeypatch.delitem(sys.modules, "google.colab", raising=False)
    if colab:
        module = types.ModuleType("google.colab")
        monkeypatch.setitem(sys.modules, "google.colab", module)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    prepare = read("refs", built).cells[2].source
    code = TransformerManager().transform_cell(prepare)
    exec(code, {"get_ipython": Shell})
    install = "install --quiet --no-deps --requirement requirements.txt"
    assert asked == ([("pip", install)] if colab else [])


def test_files_that_are_there_are_left_alone(built, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    source = read("refs", built).cells[1].source
    exec(source, {})
    assert capsys.readouterr().out == ""
    ours = tmp_path / "snippets" / "refs.py"
    assert ours.read_bytes() == (ROOT / "snippets" / "refs.py").read_bytes()
    ours.write_text("mine = 1\n")
    exec(source, {})
    assert ours.read_text() == "mine = 1\n"
    said = capsys.readouterr().out.splitlines()
    assert "is there, and stays as it is: snippets/refs.py" in said


def run(notebook, folder: pathlib.Path, kernel: str = "python3", **environment):
    """Run a notebook as a reader does: in a folder, by an ordinary kernel."""
    ran = copy.deepcopy(notebook)
    where = "import pathlib, snippets\nprint(pathlib.Path(snippets.__file__).parent)"
    if any("snippets" in c.source for c in notebook.cells[FIRST:]):
        ran.cells.append(nbformat.v4.new_code_cell(where))
    client = NotebookClient(
        ran,
        kernel_name=kernel,
        timeout=300,
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
    )
    ours = {*ENVIRONMENT, "PYTHONPATH", "JAX_COMPILATION_CACHE_DIR"}
    theirs = {name: value for name, value in os.environ.items() if name not in ours}
    client.execute(env=theirs | environment)
    if ran.cells[-1].source == where:
        last = ran.cells.pop()
        assert last.outputs[0].text.strip() == str(folder / "snippets")
    return ran


def said(cell) -> list[str]:
    return [output.get("text") or output.data["text/plain"] for output in outputs(cell)]


@pytest.mark.parametrize(
    "page",
    [
        page if page in SAMPLE else pytest.param(page, marks=pytest.mark.proof)
        for page in WITH
    ],
)
def test_it_runs_in_an_empty_folder_and_prints_what_the_page_shows(
    page, built, tmp_path
):
    notebook = read(page, built)
    ran = run(notebook, tmp_path)
    for before, now in zip(notebook.cells, ran.cells, strict=True):
        if before.cell_type == "code":
            assert said(now) == said(before), before.source


@pytest.mark.proof
@pytest.mark.parametrize("page", ["refs", "trainer", "guardrails"])
def test_it_needs_no_other_packages(page, built, bare_python, tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_PATH", str(bare_python))
    ran = run(read(page, built), tmp_path, kernel="bare")
    for before, now in zip(read(page, built).cells, ran.cells, strict=True):
        if before.cell_type == "code":
            assert said(now) == said(before), before.source


@pytest.fixture(scope="module")
def bare_python(built, tmp_path_factory, root) -> pathlib.Path:
    """Return a Jupyter path with a kernel that has only what a notebook asks for."""
    folder = tmp_path_factory.mktemp("bare")
    write = read("refs", built).cells[1].source
    subprocess.run([sys.executable, "-c", write], cwd=folder, check=True)
    lock = (root / "requirements.lock").read_text("utf-8")
    kernel = pins(lock, ["ipykernel"], has=())
    (folder / "kernel.txt").write_text("\n".join(kernel))
    uv, python = root / ".tools" / "bin" / "uv", folder / "venv" / "bin" / "python"
    files = ["-r", folder / "requirements.txt", "-r", folder / "kernel.txt"]
    into = ["--quiet", "--no-deps", "--compile-bytecode", "--python", python]
    for command in (
        [
            "venv",
            "--quiet",
            "--no-project",
            "--python",
            sys.executable,
            folder / "venv",
        ],
        ["pip", "install", *into, *files],
    ):
        subprocess.run([uv, *command], check=True, cwd=folder)
    spec = KernelSpecManager().get_kernel_spec("python3")
    spec.argv = [str(python), *spec.argv[1:]]
    home = folder / "kernels" / "bare"
    home.mkdir(parents=True)
    (home / "kernel.json").write_text(spec.to_json())
    return folder
