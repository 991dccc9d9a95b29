"""Writes the schema of workflow files without its words; see the README beside it.

.venv/bin/python -m tests.workflows.bare github-workflows.json
"""

import json
import pathlib
import sys

KEPT = pathlib.Path(__file__).with_name("github-workflow.json")
WORDS = {"title": str, "description": str, "$comment": str, "examples": list}


def bare(part):
    """Return a part of a schema without what is only there to be read.

    A property may be called `description` as well; its value is a schema, and stays.
    """
    if isinstance(part, list):
        return [bare(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        name: bare(value)
        for name, value in part.items()
        if not isinstance(value, WORDS.get(name, ()))
    }


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m tests.workflows.bare SCHEMA")
    schema = json.loads(pathlib.Path(sys.argv[1]).read_text("utf-8"))
    text = json.dumps(bare(schema), indent=1, ensure_ascii=False)
    KEPT.write_text(f"{text}\n", "utf-8")
