"""Kernels forked from a warm process: alone, like others, and gone in the end."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from book import running, warm
from book.running import run_pages
from tests.book.front import page, texts


@pytest.fixture(autouse=True)
def a_process_of_its_own(monkeypatch):
    monkeypatch.delenv("BOOK_WARM", raising=False)


SHOW = """import os, sys, signal
print(os.getpid() == os.getsid(0), os.getcwd(), __name__)
print(len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0)
print("tensorflow" in sys.modules, "snippets" in sys.modules)"""


def test_each_fork_has_a_session_and_a_folder_of_its_own():
    results = run_pages({f"docs/{n}.md": page(SHOW) for n in "abc"}, 2)
    seen = []
    for notebook, failure, _ in results.values():
        assert failure is None
        (text,) = texts(notebook)
        session, folder, name = text.splitlines()[0].split()
        assert (session, name) == ("True", "__main__")
        assert text.splitlines()[2] == "True False"
        assert not pathlib.Path(folder).exists()
        seen.append((folder, text.splitlines()[1]))
    assert len({folder for folder, _ in seen}) == 3
    assert len({files for _, files in seen}) == 1  # none is left open for a later one


PARENT = page("import os\nprint(os.getppid())")


def test_builds_can_share_a_process(tmp_path):
    with warm.shared_process() as address:
        runs = [run_pages({"docs/a.md": PARENT}, 1)["docs/a.md"] for _ in "12"]
        parents = {texts(notebook)[0] for notebook, _, _ in runs}
        assert len(parents) == 1
        assert int(parents.pop()) != os.getpid()
    assert not pathlib.Path(address).exists()
    assert "BOOK_WARM" not in os.environ


def test_a_shared_process_that_is_gone_is_done_without(monkeypatch, tmp_path, capfd):
    monkeypatch.setenv("BOOK_WARM", str(tmp_path / "gone"))
    notebook, failure, _ = run_pages({"docs/a.md": PARENT}, 1)["docs/a.md"]
    assert failure is None
    assert texts(notebook) == [f"{os.getpid()}\n"]
    assert "gone: [Errno 2] No such file" in capfd.readouterr().err


def test_a_warm_process_that_fails_is_said_and_done_without(monkeypatch, capfd):
    monkeypatch.setattr(warm, "PATIENCE", 0.01)
    results = run_pages({f"docs/{n}.md": page(f"print({n})") for n in "12"}, 2)
    assert [texts(notebook) for notebook, _, _ in results.values()] == [
        ["1\n"],
        ["2\n"],
    ]
    said = capfd.readouterr().err
    assert "Ordinary kernels, since a warm one failed: no answer for 0.01" in said


def test_a_fork_that_does_not_answer_is_replaced(monkeypatch, capfd):
    async def no_fork(*arguments):
        raise warm.WarmKernelsFailed("no answer for 30 seconds")

    monkeypatch.setattr(warm.WarmProcess, "fork", no_fork)
    ((notebook, failure, _),) = run_pages(
        {"docs/a.md": page("print(1)")}, 1, warm_up=True
    ).values()
    assert failure is None
    assert texts(notebook) == ["1\n"]
    assert "no answer for 30 seconds" in capfd.readouterr().err


@pytest.mark.parametrize(("name", "expected"), [("cold", False), ("", True)])
def test_ordinary_kernels_can_be_asked_for(name, expected, monkeypatch):
    monkeypatch.setenv("BOOK_KERNEL", name)
    assert running.warm_kernels() is expected


def test_an_unknown_kind_of_kernel_is_refused(monkeypatch):
    monkeypatch.setenv("BOOK_KERNEL", "hot")
    with pytest.raises(SystemExit, match="BOOK_KERNEL should be cold or warm"):
        running.warm_kernels()


SLEEPS = """import os, pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path({folder!r}, str(os.getpid())).touch()
pathlib.Path({folder!r}, str(child.pid)).touch()
time.sleep(600)"""

# `make test &` has its processes ignore what Ctrl-C sends.
BUILD = """import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from book import environment
environment.prepare()
from book.running import run_pages
run_pages({{"docs/a.md": {page!r}, "docs/b.md": {page!r}}}, 2)"""


def alive(pid: int) -> bool:
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return False
    return state[0] != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_process_outlives_the_build(how, tmp_path):
    code = BUILD.format(page=page(SLEEPS.format(folder=str(tmp_path))))
    build = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 120
    while len(list(tmp_path.iterdir())) < 4:
        assert time.monotonic() < until and build.poll() is None
        time.sleep(0.1)
    pids = [int(path.name) for path in tmp_path.iterdir()]
    parents = {
        int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        for pid in pids
    }
    (warm_pid,) = parents - set(pids)
    os.kill(build.pid, how)
    assert build.wait(timeout=60) != 0
    until = time.monotonic() + 20
    while any(alive(pid) for pid in [*pids, warm_pid]):
        assert time.monotonic() < until
        time.sleep(0.1)
