"""What `make` answers, above all to bad input."""

import os
import re
import shutil
import stat
import subprocess

import pytest

from book.cells import pages


def make(root, *arguments):
    # `make test` runs these, and must not hand on that it is a make itself.
    outside = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    return subprocess.run(
        ["make", *arguments],
        cwd=root,
        env=outside,
        capture_output=True,
        text=True,
    )


def test_make_alone_lists_the_targets_a_line_each(root):
    run = make(root)
    assert run.returncode == 0
    listed = re.findall(r"^  make ([a-z-]+) +\S.*$", run.stdout, re.M)
    assert len(listed) == len(run.stdout.splitlines())
    assert {"html", "test", "live", "lint", "lock", "clean"} <= set(listed)
    phony = re.findall(r"^\.PHONY: ([a-z-]+)$", (root / "Makefile").read_text(), re.M)
    assert sorted(listed) == sorted(phony)


@pytest.mark.parametrize(
    ("target", "what"), [("html PAGE=nope", "page"), ("test K=nope", "chapter")]
)
def test_a_name_that_is_none_is_answered_with_those_there_are(root, target, what):
    run = make(root, *target.split())
    assert run.returncode == 2
    there_are = " ".join(pages())
    assert f"make: no {what} 'nope'; there are: {there_are}\n" in run.stderr


@pytest.fixture
def fresh(root, tmp_path):
    """The files that a set-up needs, in a folder with a path of few commands."""
    for name in (
        "requirements.lock",
        "requirements-uv.lock",
        ".python-version",
        "pyproject.toml",
    ):
        shutil.copy(root / name, tmp_path)
    (tmp_path / "book").mkdir()
    shutil.copy(root / "book" / "setup.sh", tmp_path / "book")
    commands = tmp_path / "commands"
    commands.mkdir()
    for name in ("sh", "cat", "cmp", "cp", "dirname", "rm", "uname", "printf", "pwd"):
        (commands / name).symlink_to(shutil.which(name))
    return tmp_path


def command(folder, name: str, body: str) -> None:
    path = folder / name
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def set_up(fresh, **environment):
    run = subprocess.run(
        [shutil.which("sh"), "book/setup.sh"],
        cwd=fresh,
        capture_output=True,
        text=True,
        env={"PATH": str(fresh / "commands")} | environment,
    )
    assert run.returncode == 1
    *progress, answer = run.stderr.strip().splitlines()
    assert progress in ([], ["set-up: installing uv into .tools"])
    assert answer.startswith("set-up: ")
    assert not (fresh / ".venv" / ".complete").exists()
    return answer


def test_no_python_at_all(fresh):
    assert "no Python found. Install Python 3.12" in set_up(fresh)


def test_a_python_without_venv(fresh):
    command(
        fresh / "commands",
        "python3",
        'test "$1" = --version && echo Python 3.11.2 && exit 0; exit 1',
    )
    assert "Python 3.11.2 at" in (message := set_up(fresh))
    assert "apt install python3-venv" in message


def test_no_python_that_the_book_runs_on(fresh):
    command(fresh / "commands", "python3", "echo Python 3.9.18")
    command(fresh / ".tools" / "bin", "uv", "echo no such Python >&2; exit 2")
    shutil.copy(fresh / "requirements-uv.lock", fresh / ".tools" / "installed.lock")
    message = set_up(fresh)
    assert "found Python 3.9.18, but no Python 3.12" in message
    assert "apt install python3.12" in message


def test_a_python_that_is_not_supported(fresh):
    assert "Python 3.11 is not supported; the book runs on 3.12 and 3.13" in set_up(
        fresh, BOOK_PYTHON="3.11"
    )


@pytest.mark.parametrize(
    ("system", "answer"),
    [
        (
            "MINGW64_NT-10.0 x86_64",
            "Windows is not supported; use a Linux under WSL 2.",
        ),
        ("Linux aarch64", "Linux on aarch64 is not supported"),
        ("Darwin x86_64", "Darwin on x86_64 is not supported"),
    ],
)
def test_a_system_that_is_not_supported(fresh, system, answer):
    name, machine = system.split()
    command(
        fresh / "commands", "uname", f'test "$1" = -s && echo {name} || echo {machine}'
    )
    assert answer in set_up(fresh)
