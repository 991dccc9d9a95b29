"""Speaks with GitHub through its command line, `gh`, which its runners have.

`gh` reads the token from GH_TOKEN and the repository from GH_REPO.
"""

import json
import subprocess


def call(method: str, path: str, data: dict | None = None) -> object:
    """Call GitHub's REST interface, and return what it answers.

    Args:
      method: such as ``GET``.
      path: such as ``repos/{owner}/{repo}/issues``; `gh` fills the braces.
      data: what is sent. Never part of a command line, since other people's words
        may be in it.

    Raises:
      SystemExit: if there is no `gh`, or if it fails; with what it said.
    """
    command = ["gh", "api", "--method", method, path]
    if data is not None:
        command += ["--input", "-"]
    try:
        run = subprocess.run(
            command,
            input=json.dumps(data) if data is not None else None,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    except FileNotFoundError:
        raise SystemExit("gh, the command line of GitHub, is not installed.") from None
    if run.returncode:
        raise SystemExit(f"gh api {method} {path}: {run.stderr.strip()}")
    return json.loads(run.stdout) if run.stdout.strip() else None
