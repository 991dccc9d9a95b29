"""A `gh` that notes what it is asked, and answers what a test wants."""

import json
import os
import sys

import pytest

FAKE = """\
#!{python}
import json, os, pathlib, sys

folder = pathlib.Path({folder!r})
_, *rest = sys.argv[1:]
method, path = rest[rest.index("--method") + 1 :][:2]
data = json.loads(sys.stdin.read()) if "--input" in rest else None
with (folder / "asked").open("a") as file:
    file.write(json.dumps([method, path, data]) + "\\n")
answers = json.loads((folder / "answers").read_text())
answer = answers.get(f"{{method}} {{path.partition('?')[0]}}", "")
if answer == "fails":
    sys.exit("gh: Not Found (HTTP 404)")
print(json.dumps(answer) if answer != "" else "")
"""


class Gh:
    """The fake: `answers` by method and path, and what was `asked`."""

    def __init__(self, folder):
        self.folder = folder
        self.answer({})
        path = folder / "gh"
        path.write_text(FAKE.format(python=sys.executable, folder=str(folder)))
        path.chmod(0o755)

    def answer(self, answers: dict) -> None:
        (self.folder / "answers").write_text(json.dumps(answers))

    def asked(self) -> list[list]:
        path = self.folder / "asked"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]


@pytest.fixture
def gh(tmp_path, monkeypatch) -> Gh:
    folder = tmp_path / "gh"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return Gh(folder)
