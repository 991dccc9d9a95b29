"""Opens the pull request that moves the lock, or renews its text; has it tested.

    python3 -m compat.lock_request note.md --branch lock --base main

A pull request that is opened with a workflow's own token starts no workflow: GitHub
wants no workflow to start itself. A dispatch is the exception, so the tests are
dispatched on the branch. Their results stand at its commit, and so at the pull request.
"""

import argparse
import os
import pathlib

from compat import github

TITLE = "The lock moves to the newest packages that fit together"
TESTS = "book.yml"


def propose(text: str, branch: str, base: str, owner: str) -> int:
    """Open the pull request, or give the one that is open another text.

    Args:
      text: of the pull request.
      branch: which has been pushed.
      base: the branch that it is to be merged into.
      owner: of the repository.

    Returns:
      The number of the pull request.
    """
    path = "repos/{owner}/{repo}/pulls"
    query = f"?state=open&base={base}&head={owner}:{branch}"
    there = github.call("GET", path + query)
    if there:
        number = there[0]["number"]
        github.call("PATCH", f"{path}/{number}", {"title": TITLE, "body": text})
        return number
    data = {"title": TITLE, "body": text, "head": branch, "base": base}
    return github.call("POST", path, data)["number"]


def have_tested(branch: str) -> None:
    """Start the tests on a branch."""
    path = f"repos/{{owner}}/{{repo}}/actions/workflows/{TESTS}/dispatches"
    github.call("POST", path, {"ref": branch})


def main() -> None:
    """Open or renew the pull request that moves the lock, and have it tested."""
    parser = argparse.ArgumentParser(
        prog="compat.lock_request", description=main.__doc__
    )
    parser.add_argument("text", type=pathlib.Path, help="a file")
    parser.add_argument("--branch", required=True)
    parser.add_argument("--base", required=True)
    wanted = parser.parse_args()
    owner = os.environ.get("GITHUB_REPOSITORY_OWNER")
    if not owner:
        raise SystemExit("GITHUB_REPOSITORY_OWNER is not set; workflows set it.")
    text = wanted.text.read_text("utf-8")
    print(f"pull request #{propose(text, wanted.branch, wanted.base, owner)}")
    have_tested(wanted.branch)


if __name__ == "__main__":
    main()
