"""What every workflow of this repository keeps to."""

import json
import pathlib
import re
from collections.abc import Iterator

import jsonschema
import yaml

SCHEMA = json.loads(
    pathlib.Path(__file__).with_name("github-workflow.json").read_text("utf-8")
)
# They run with the rights of the main branch on what a stranger sends.
DANGEROUS = {"pull_request_target", "workflow_run"}


class Loader(yaml.SafeLoader):
    """Reads YAML as GitHub does: `on` is a word, and not `true`."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if not tag.endswith(":bool")]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile("true|false"), ["t", "f"]
)


def problems(text: str, targets: set[str], modules: set[str]) -> list[str]:
    """Return what a workflow file does that it must not.

    Args:
      text: the file.
      targets: the targets of the Makefile.
      modules: the modules of `compat/`, such as ``watch``.
    """
    try:
        workflow = yaml.load(text, Loader)
    except yaml.YAMLError as error:
        return [f"no YAML: {error}"]
    wrong = _not_of_the_schema(workflow)
    if wrong:
        return wrong
    return [
        *_triggers(workflow),
        *_permissions(workflow),
        *_actions(text),
        *(each for job in workflow["jobs"].items() for each in _job(*job)),
        *_commands(workflow, targets, modules),
    ]


def _not_of_the_schema(workflow: object) -> list[str]:
    validator = jsonschema.validators.validator_for(SCHEMA)(SCHEMA)
    found = jsonschema.exceptions.best_match(validator.iter_errors(workflow))
    return [f"{found.json_path}: {found.message[:300]}"] if found else []


def _triggers(workflow: dict) -> Iterator[str]:
    on = workflow["on"]
    events = {on} if isinstance(on, str) else set(on)
    for event in sorted(events & DANGEROUS):
        yield f"'{event}' runs what strangers send"
    # What is run every night must not be what a pull request waits for.
    if "schedule" in events:
        for event in sorted(events - {"schedule", "workflow_dispatch"}):
            yield f"a workflow with a schedule runs on '{event}'"


def _permissions(workflow: dict) -> Iterator[str]:
    granted = workflow.get("permissions")
    if not isinstance(granted, dict):
        yield "the workflow does not say which permissions it needs"
    elif writes := [name for name, to in granted.items() if to == "write"]:
        yield f"'{writes[0]}: write' is for all jobs, instead of for one"


def _actions(text: str) -> Iterator[str]:
    for action in re.findall(r"^\s*(?:- )?uses:\s*(.*)$", text, re.M):
        if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d[\w.]*", action):
            yield f"'{action}' is not pinned by a commit, with its version behind it"


def _job(name: str, job: dict) -> Iterator[str]:
    if "timeout-minutes" not in job:
        yield f"the job '{name}' has no timeout-minutes"
    granted = job.get("permissions", {})
    writes = granted == "write-all" or "write" in dict(granted).values()
    for step in job.get("steps", ()):
        checks_out = step.get("uses", "").startswith("actions/checkout@")
        kept = step.get("with", {}).get("persist-credentials", True)
        if checks_out and kept is not False:
            yield f"the job '{name}' leaves its token in the checkout"
        if writes and re.search(r"\b(make|pip|uv|npm)\b", step.get("run", "")):
            yield f"the job '{name}' may write, and runs packages"


def _commands(workflow: dict, targets: set[str], modules: set[str]) -> Iterator[str]:
    for job in workflow["jobs"].values():
        for step in job.get("steps", ()):
            run = step.get("run", "")
            if "${{" in run:
                yield f"an expression in a command; hand it over in env: {run!r}"
            for target in re.findall(r"\bmake ([a-z][\w-]*)", run):
                if target not in targets:
                    yield f"'make {target}' is no target of the Makefile"
            for module in re.findall(r"-m compat\.(\w+)", run):
                if module not in modules:
                    yield f"there is no compat/{module}.py"


def pins(texts: dict[str, str]) -> dict[str, set[str]]:
    """Return the commits of each action that the files use, without its sub-folder."""
    found: dict[str, set[str]] = {}
    for text in texts.values():
        for action, commit in re.findall(r"uses:\s*([\w./-]+)@(\S+)", text):
            found.setdefault("/".join(action.split("/")[:2]), set()).add(commit)
    return found
