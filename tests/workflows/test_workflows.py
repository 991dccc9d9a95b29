"""The workflow files: of GitHub's form, and by the rules of this repository.

Nobody sees a workflow fail that runs at night, so what can be known beforehand is
looked at here.
"""

import os
import re
import shutil
import subprocess

import pytest
import yaml

from book.cells import ROOT
from tests.workflows import rules

FOLDER = ROOT / ".github" / "workflows"
TEXTS = {path.stem: path.read_text("utf-8") for path in sorted(FOLDER.iterdir())}
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
MODULES = {path.stem for path in (ROOT / "compat").glob("*.py")}


def problems(text: str) -> list[str]:
    return rules.problems(text, TARGETS, MODULES)


@pytest.mark.parametrize("name", TEXTS)
def test_a_workflow_keeps_to_the_rules(name):
    assert problems(TEXTS[name]) == []


def test_there_are_the_workflows_that_the_rules_are_for():
    assert {"book", "lock", "nightly", "proof"} <= set(TEXTS)


def test_an_action_has_one_commit_in_all_files():
    found = rules.pins(TEXTS)
    assert {action: pins for action, pins in found.items() if len(pins) > 1} == {}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("runs-on: macos-15", "runs_on: macos-15", "$.jobs.macos"),
        ("timeout-minutes: 120", "timeout-minutes: soon", "$.jobs.linux"),
        ("  workflow_dispatch: # both", "  pull_request:", "runs on 'pull_request'"),
        ("  workflow_dispatch: # both", "  push:", "runs on 'push'"),
        (
            "  workflow_dispatch: # both",
            "  pull_request_target:",
            "'pull_request_target' runs what strangers send",
        ),
        ("permissions:\n  contents: read\n\n#", "#", "does not say which permissions"),
        (
            "permissions:\n  contents: read\n\n#",
            "permissions:\n  contents: write\n\n#",
            "'contents: write' is for all jobs",
        ),
        ("@08c6903cd8c0fde910a37f88322edcfb5dd907a8 # v5.0.0", "@v5", "is not pinned"),
        (" # v5.0.0", "", "is not pinned"),
        ("    timeout-minutes: 60\n", "", "'links' has no timeout-minutes"),
        (
            "persist-credentials: false",
            "persist-credentials: true",
            "'linux' leaves its token",
        ),
        ('ONLY="$COMBINATION"', "ONLY=${{ github.ref }}", "an expression in a command"),
        (
            "run: make linkcheck",
            "run: make check-links",
            "'make check-links' is no target",
        ),
        ("-m compat.watch", "-m compat.watcher", "there is no compat/watcher.py"),
        (
            "    steps:\n",
            "    permissions: {issues: write}\n    steps:\n",
            "'linux' may write, and runs packages",
        ),
        ("jobs:", "jobs: [", "no YAML"),
    ],
)
def test_a_workflow_that_breaks_a_rule_is_found(old, new, said):
    text = TEXTS["nightly"]
    assert old in text
    found = problems(text.replace(old, new, 1))
    assert any(said in each for each in found), found


def test_two_commits_of_an_action_are_found():
    text = TEXTS["proof"].replace("08c6903c", "ffffffff")
    assert len(rules.pins(TEXTS | {"other": text})["actions/checkout"]) == 2


def steps(name: str, job: str) -> list[dict]:
    return yaml.load(TEXTS[name], rules.Loader)["jobs"][job]["steps"]


def test_each_schedule_is_asked_for_as_it_is_written():
    """A job with another time in its `if` than in the schedule would never run."""
    text = TEXTS["nightly"]
    times = re.findall(r'cron: "(.*)"', text)
    asked = set(re.findall(r"event\.schedule != '(.*)'", text))
    assert asked == set(times)


def test_what_is_downloaded_is_what_was_uploaded():
    text = TEXTS["nightly"]
    matrix = yaml.load(text, rules.Loader)["jobs"]["linux"]["strategy"]["matrix"]
    names = {f"linux-{name}" for name in matrix["combination"]} | {"macos-newest"}
    read = set(re.findall(r"records/([\w-]+)/compat\.json", text))
    assert read == names
    uploaded = set(re.findall(r"name: (linux|macos-newest|links)", text))
    assert uploaded == {"linux", "macos-newest", "links"}
    assert "records/links/output.json" in text
    assert "path: _build/linkcheck/found/output.json" in text
    assert "docs _build/linkcheck/found" in (ROOT / "Makefile").read_text()


@pytest.fixture
def moved(tmp_path):
    """A clone in which a new lock waits, as its artifact brings it."""

    def git(*arguments, cwd=tmp_path / "clone"):
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *who, *arguments], cwd=cwd, check=True)

    git("init", "--quiet", "--bare", str(tmp_path / "origin"), cwd=tmp_path)
    git("clone", "--quiet", str(tmp_path / "origin"), "clone", cwd=tmp_path)
    clone = tmp_path / "clone"
    shutil.copytree(ROOT / "compat", clone / "compat")
    (clone / "tests" / "transcripts").mkdir(parents=True)
    files = ["requirements.lock", "Makefile", "tests/transcripts/refs.txt"]
    for name in files:
        (clone / name).write_text("jax==1 \\\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "Before")
    for name in files:
        (clone / name).write_text("jax==2 \\\n")
    (clone / "moved").mkdir()
    patch = subprocess.check_output(["git", "diff"], cwd=clone, text=True)
    (clone / "moved" / "lock.patch").write_text(patch)
    (clone / "moved" / "accept.log").write_text("Every output is as it was.\n")
    git("checkout", "--quiet", ".")
    return clone


def test_the_lock_is_proposed_and_nothing_but_the_lock(moved, tmp_path):
    """The commands of the job as they stand in the file, with a `gh` that answers."""
    commands = tmp_path / "commands"
    commands.mkdir()
    gh = commands / "gh"
    gh.write_text(
        f'#!/bin/sh\necho "$*" >>{tmp_path}/asked\n'
        "case \"$*\" in *GET*) echo '[]';; *pulls*) echo '{\"number\": 5}';; esac\n"
    )
    gh.chmod(0o755)
    given = {
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "ENDED": "success",
        "BASE": "main",
        "GITHUB_REPOSITORY_OWNER": "o",
    }
    for step in steps("lock", "propose"):
        if run := step.get("run"):
            done = subprocess.run(
                ["bash", "-e", "-c", run],
                cwd=moved,
                env=os.environ | given,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr
    changed = subprocess.check_output(
        ["git", "diff", "--name-only", "HEAD~", "lock"],
        cwd=tmp_path / "clone",
        text=True,
    )
    assert changed.split() == ["requirements.lock", "tests/transcripts/refs.txt"]
    pushed = subprocess.check_output(
        ["git", "show", "lock:requirements.lock"], cwd=tmp_path / "origin", text=True
    )
    assert pushed == "jax==2 \\\n"
    assert "| jax | 1 | 2 |" in (moved / "moved" / "note.md").read_text()
    asked = (tmp_path / "asked").read_text()
    assert asked.startswith("auth setup-git\n")
    assert "state=open&base=main&head=o:lock" in asked
    assert "actions/workflows/book.yml/dispatches" in asked.splitlines()[-1]
