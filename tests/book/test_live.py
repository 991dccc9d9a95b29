"""`make live`: what is saved is served, and nothing is left running."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import urllib.request

import pytest

from book import live as live_module
from tests.book.alive import interrupt


class Live:
    """A running `make live`, with what it has printed.

    Args:
      process: the running one.
      log: the file that it prints to.
    """

    def __init__(self, process: subprocess.Popen, log: pathlib.Path):
        self.process = process
        self.log = log

    def builds(self) -> int:
        return self.log.read_text("utf-8").count("Serving on")

    def wait(self, builds: int) -> str:
        """Wait for the end of a build, and return what was printed since it began."""
        until = time.monotonic() + 200
        while self.builds() < builds:
            assert self.process.poll() is None, self.log.read_text("utf-8")
            assert time.monotonic() < until, self.log.read_text("utf-8")
            time.sleep(0.1)
        return self.log.read_text("utf-8").split("Serving on")[-2]

    def watches(self) -> None:
        """Wait until an edit would be noticed: a moment after the server answers."""
        until = time.monotonic() + 30
        while True:
            try:
                self.get("index")
                break
            except OSError:
                assert time.monotonic() < until
                time.sleep(0.1)
        time.sleep(1)

    def save(self, path: pathlib.Path, before: str, after: str) -> str:
        """Edit a file, and return what was printed until it was served."""
        text, builds = path.read_text("utf-8"), self.builds()
        assert before in text
        path.write_text(text.replace(before, after, 1), "utf-8")
        return self.wait(builds + 1)

    def get(self, page: str) -> str:
        (address,) = set(re.findall(r"http://127\.0\.0\.1:\d+", self.log.read_text()))
        with urllib.request.urlopen(f"{address}/{page}.html") as answer:
            return answer.read().decode()


@pytest.fixture
def live(marked, built, copy_of_book, tmp_path):
    """`make live` on a copy of the book; three of its pages, which have run before."""
    folder, log = copy_of_book(), tmp_path / "log"
    store = tmp_path / "store"
    shutil.copytree(os.environ["BOOK_STORE"], store)
    environment = marked | {"BROWSER": "true", "BOOK_STORE": str(store)}
    environment["BOOK_PAGE"] = "index konfig refs"
    environment.pop("BOOK_WARM", None)
    with log.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "book.live"],
            cwd=folder,
            env=environment | {"PYTHONPATH": str(folder)},
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    yield folder, Live(process, log)
    interrupt(process)
    assert process.wait(20) == 0
    assert "Traceback" not in log.read_text("utf-8").split("Serving on")[-1]


def test_what_is_saved_is_served(live):
    folder, live = live
    assert "No page needed to run again" in live.wait(1)
    live.watches()
    page, conf = folder / "docs" / "refs.md", folder / "conf.py"

    said = live.save(page, "gets no error", "sees no error")
    assert "No page needed to run again" in said
    assert "sees no error" in live.get("refs")

    said = live.save(page, "cfg.num_train_steps = 200", "cfg.num_train_steps = 250")
    assert re.findall(r" s  (.*)", said) == ["refs  (its cells changed)"]

    said = live.save(page, "cfg.num_train_steps = 250", "cfg.num_train_steps = 1 / 0")
    assert re.search(r"docs/refs.md:\d+: ZeroDivisionError: division by zero", said)
    live.save(page, "cfg.num_train_steps = 1 / 0", "cfg.num_train_steps = 200")

    said = live.save(conf, "author = ", "author  = ")
    assert "conf.py has changed: all pages are rendered again." in said
    assert "No page needed to run again" in said


@pytest.mark.parametrize(("status", "built"), [(0, True), (2, False)])
def test_a_changed_lock_is_followed_before_a_build(status, built, monkeypatch, capsys):
    ran = []

    def run(command: list[str], **more) -> subprocess.CompletedProcess:
        ran.append(command)
        return subprocess.CompletedProcess(command, status)

    monkeypatch.setattr(subprocess, "run", run)
    builder = live_module.Builder(
        ["docs"], url_host="x", pre_build_commands=[], post_build_commands=[]
    )
    builder(changed_paths=[pathlib.Path("requirements.lock")])
    assert ran[0] == ["make", "--silent", ".venv/.complete"]
    assert any("sphinx" in command for command in ran) is built
    assert (
        "requirements.lock has changed: all pages run again" in capsys.readouterr().out
    )
