"""What the page *errors* promises: its messages are real, and each leads to its entry.

The page's cells raise them, and the build holds that its entries name what they print.
Here every message is pasted, as the page shows it and with a whole traceback around it.
"""

import contextlib
import functools
import linecache
import os
import re
import signal
import subprocess
import sys
import traceback
import types

import pytest

from book import leash
from book.answers import Answer, best, read
from book.cells import DOCS, cells
from book.reading import unexecuted
from snippets import ktyping, showing
from snippets.experiment import trainer, training_data

# Entries whose cells print a message otherwise than by `raises`, with the reason.
WITHOUT_A_TRACEBACK = {
    "errors-prng": "it was recorded",
    "errors-memo": "it was recorded",
    "errors-check-prng-key": "it was recorded",
    "errors-contrib": "it is printed by another Python",
    "errors-bare-trainer": "only its last line is shown",
    "errors-workdir-none": "only its last line is shown",
    "errors-other-model": "the shapes in it differ from run to run",
}
# The traceback of the first holds that of the second, which is what counts.
LEADS_TO = {"errors-xmanager": "errors-eval-keys"}


@functools.cache
def sections() -> dict[str, str]:
    """Return what stands in the heading of each entry, a code span, by its label."""
    page = (DOCS / "errors.md").read_text("utf-8")
    found = re.findall(r"^\((errors-[\w-]+)\)=\n### (.*)$", page, re.M)
    return {label: re.fullmatch(r"(`+) ?(.*?) ?\1", title)[2] for label, title in found}


@functools.cache
def answers() -> tuple[Answer, ...]:
    """Return what all pages of the book answer, also where one of them is tested."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("BOOK_PAGE", raising=False)
        with unexecuted() as pages:
            return tuple(answer for tree in pages.values() for _, answer in read(tree))


@functools.cache
def outputs() -> list[tuple[str, str]]:
    """Return what the cells of the page print, each with its section.

    From its transcript, which `make test` holds to the run.
    """
    kept = (DOCS.parent / "tests" / "transcripts" / "errors.txt").read_text("utf-8")
    parts = re.split(r"^## ([\w-]+), cell \d+\n", kept, flags=re.M)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def found(text: str) -> str | None:
    """Return the section that a pasted text leads to."""
    ranked = best(text, answers())
    return ranked[0].section if ranked else None


def test_there_are_enough():
    assert len(sections()) >= 36


@pytest.mark.parametrize("section", sections())
def test_every_entry_answers_a_message(section):
    assert section in {answer.section for answer in answers()}


@pytest.mark.parametrize("section", sections())
def test_pasting_an_output_finds_its_section(section):
    own = [answer for answer in answers() if answer.section == section]
    printed = [
        text for where, text in outputs() if where == section and best(text, own)
    ]
    assert printed
    assert {found(text) for text in printed} == {section}


@pytest.mark.parametrize("section", sections())
def test_pasting_the_heading_alone_finds_its_section(section):
    assert found(sections()[section]) == section


@pytest.fixture(scope="module")
def tracebacks():
    """Run the page, and take a traceback wherever it would have printed an error."""
    taken: list[tuple[str, str]] = []
    here = ""

    @contextlib.contextmanager
    def raises(expected, *, lines=None):
        try:
            yield
        except expected:
            taken.append((here, traceback.format_exc()))
        else:
            raise AssertionError(f"{here}: nothing was raised")

    module = types.ModuleType("__main__")
    labels = re.compile(r"^\((errors[\w-]*)\)=$", re.M)
    page = (DOCS / "errors.md").read_text("utf-8").split("\n")
    folder, before, main = leash.folder(), os.getcwd(), sys.modules["__main__"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(showing, "raises", raises)
        patch.setattr(ktyping, "raises", raises)
        sys.modules["__main__"] = module
        os.chdir(folder.name)
        try:
            for cell in cells("errors"):
                here = labels.findall("\n".join(page[: cell.line]))[-1]
                name = f"/home/me/experiment-{cell.line}.py"
                code = [f"{line}\n" for line in cell.source.split("\n")]
                linecache.cache[name] = len(cell.source), None, code, name
                exec(compile(cell.source, name, "exec"), vars(module))
        finally:
            os.chdir(before)
            sys.modules["__main__"] = main
            folder.cleanup()
    return taken


@pytest.mark.parametrize("section", sorted({*sections()} - {*WITHOUT_A_TRACEBACK}))
def test_pasting_a_whole_traceback_finds_its_section(section, tracebacks):
    texts = [text for where, text in tracebacks if where == section]
    assert texts
    for text in texts:
        assert text.startswith("Traceback (most recent call last):")
        assert "/home/me/experiment-" in text
        assert found(text) == LEADS_TO.get(section, section), text


def test_every_exception_is_needed(tracebacks):
    assert not {where for where, _ in tracebacks} & set(WITHOUT_A_TRACEBACK)


def script(code: str, **environment: str) -> str:
    """Return what a script prints that fails: a whole traceback."""
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=DOCS.parent,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1, run.stderr
    return run.stderr


@pytest.mark.proof
def test_a_plain_script_with_workers_fails_as_the_page_says():
    said = script("""
from kauldron import kd
from snippets.resume import Rows

fields = {"data_source": Rows(), "shuffle": True, "batch_size": 32, "seed": 0}
if __name__ == "__main__":
    next(iter(kd.data.py.DataSource(**fields, num_epochs=None)))
""")
    assert found(said) == "errors-flags"


def test_eight_devices_refuse_a_batch_of_sixty():
    said = script(
        """
import numpy as np
from kauldron import kd

kd.sharding.device_put({"x": np.ones((60, 16))}, kd.sharding.FIRST_DIM)
""",
        XLA_FLAGS="--xla_force_host_platform_device_count=8",
    )
    assert found(said) == "errors-indivisible"


def test_data_that_ends_before_the_run_ends_it_without_a_message(tmp_path):
    short = training_data(num_epochs=1)
    run = trainer(train_ds=short, workdir=tmp_path, num_train_steps=len(short))
    with pytest.raises(StopIteration) as raised:
        run.train()
    assert str(raised.value) == ""


def test_a_batch_that_never_comes():
    class Waited(Exception):
        pass

    def stop(*arguments):
        raise Waited

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 1)
    try:
        with pytest.raises(Waited):
            next(iter(training_data(batch_size=1024, num_epochs=None)))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
