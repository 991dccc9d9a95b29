"""Says what is wrong with an environment for Kauldron, and which line cures it.

    python doctor.py
    python doctor.py --json

Needs Python 3.10 or later and nothing else, as it is wanted where packages are missing
or broken. It imports none of them: processes of their own do, so that neither a crash
nor a hang in one takes the doctor down. The exit status is 1 if there is a problem.
"""

from __future__ import annotations  # an older Python is told that it is one

import argparse
import dataclasses
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator

# The book's address, with a slash behind it: in the copy that the book offers.
BOOK = ""

NEEDED = (
    "kauldron",
    "jax",
    "jaxlib",
    "flax",
    "optax",
    "etils",
    "orbax-checkpoint",
    "typeguard",
    "numpy",
)
TENSORFLOW = ("tensorflow", "tensorflow-cpu")
OTHERS = ("grain", "tensorflow-datasets", "ipywidgets", "importlib-resources")
PYTHON = ">=3.11"


@dataclasses.dataclass(frozen=True)
class Rule:
    """Versions that are known to fail together.

    Attributes:
      when: for each package, its versions.
      seen: what the error says then, word for word.
      cure: what pip is asked for.
      section: where the book explains it.
      probe: what fails. Where it was tried and works, as with a patched package, the
        versions do not count.
    """

    when: dict[str, str]
    seen: str
    cure: str
    section: str
    probe: str


RULES = (
    Rule(
        when={"etils": "<1.15", "jax": ">=0.10.2"},
        seen="module 'jax._src' has no attribute 'prng'",
        cure="etils>=1.15",
        section="install.html#install-etils",
        probe="etils probe",
    ),
    Rule(
        when={"kauldron": "<1.4.2", "jax": ">=0.10.2"},
        seen="module 'jax._src.random' has no attribute '_check_prng_key'",
        cure="kauldron>=1.4.2",
        section="errors.html#errors-check-prng-key",
        probe="trainer",
    ),
    Rule(
        when={"kauldron": ">=1.2,<1.4", "typeguard": ">=4.5"},
        seen="check_argument_types() got an unexpected keyword argument 'memo'",
        cure="kauldron>=1.4.2",
        section="errors.html#errors-memo",
        probe="shape check",
    ),
)

# What is tried, in this order: what it needs, and the code.
PROBES = {
    "devices": (
        ("jax",),
        """
import collections, jax
kinds = [(d.platform, d.device_kind) for d in jax.devices()]
result = [f"{n} {p} ({k})" for (p, k), n in collections.Counter(kinds).items()]
""",
    ),
    "etils probe": (
        ("etils", "jax"),
        """
import jax, numpy
from etils import enp
enp.ArraySpec(shape=(1,), dtype=numpy.float32)
""",
    ),
    "shape check": (
        ("kauldron",),
        """
import numpy
from kauldron.typing import Float, typechecked
@typechecked
def same(x: Float["n"]) -> Float["n"]:
    return x
same(numpy.ones(3, numpy.float32))
""",
    ),
    "trainer": (("kauldron",), "from kauldron import kd\nkd.train.Trainer"),
}

# What may be missing though Kauldron is there, by the name in the error.
MODULES = {
    "cv2": "opencv-python",
    "importlib_resources": "importlib-resources",
    "ipywidgets": "ipywidgets",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "tensorboard": "tensorboard",
}

_PLUGIN = re.compile(
    r"jax-(cuda|rocm|oneapi)\d*-(plugin|pjrt)|jax-metal|libtpu(-nightly)?"
)
_MARK = "doctor's answer: "
_CHILD = f"""
import json, os, sys, traceback
for name, code in json.loads(sys.argv[1]).items():
    scope, errors = {{"__name__": "__main__"}}, []
    try:
        exec(code, scope)
    except BaseException as error:
        while error is not None:  # the first one says most, and others wrap it
            said = traceback.format_exception_only(type(error), error)
            errors.insert(0, "".join(said).strip())
            error = error.__cause__
    answer = {{"name": name, "errors": errors, "result": scope.get("result", [])}}
    print("\\n{_MARK}" + json.dumps(answer), flush=True)
os._exit(0)  # libraries that crash when Python ends are no concern of ours
"""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of a probe.

    Attributes:
      error: the line that says most; '' if it worked.
      text: all that is known of the error.
      result: what it found out.
    """

    error: str = ""
    text: str = ""
    result: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Facts:
    """What the doctor knows of an environment.

    Attributes:
      versions: of the packages that are there; `unknown` for one without metadata.
      python: its version.
      program: its path.
      pip: the command that installs into it.
      jaxlib: the versions that its jax allows.
      plugins: the packages for accelerators, and their versions.
      resources: whether its TensorFlow Datasets imports `importlib_resources`.
      tensorflow: the name of the package that this machine can have.
      environ: the variables that matter, where they are set.
      outcomes: of the probes that were tried, by their names.
    """

    versions: dict[str, str]
    python: str = platform.python_version()
    program: str = "python"
    pip: str = "python -m pip install"
    jaxlib: str = ""
    plugins: dict[str, str] = dataclasses.field(default_factory=dict)
    resources: bool = True
    tensorflow: str = "tensorflow-cpu"
    environ: dict[str, str] = dataclasses.field(default_factory=dict)
    outcomes: dict[str, Outcome] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something that is wrong, the command that cures it, and where to read on."""

    what: str
    cure: str
    section: str


# --- versions: `packaging` knows them better, but may not be installed ----------------


def release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version; a nightly has those of the release to come.

    >>> release("0.12.0.1"), release("1.4.0.dev20+local.7")
    ((0, 12, 0, 1), (1, 4))
    """
    numbers = [int(n) for n in re.match(r"[\d.]*", version)[0].split(".") if n]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def within(version: str, allowed: str) -> bool:
    """Tell whether a version is one of those that pip would allow.

    >>> within("1.10.0", ">=1.9,<2"), within("1.9", ">=1.10"), within("2.0", "==2")
    (True, False, True)
    """
    have = release(version)
    for part in allowed.split(","):
        # What is written otherwise is taken to be allowed: no alarm without a reason.
        match = re.fullmatch(r"\s*([<>=!]=?)\s*([\w.]+)\s*", part)
        operator, want = match.groups() if match else ("", "")
        want = release(want)
        if not {
            "<": have < want,
            "<=": have <= want,
            ">": have > want,
            ">=": have >= want,
            "==": have == want,
            "!=": have != want,
        }.get(operator, True):
            return False
    return True


# --- what there is --------------------------------------------------------------------


def version_of(package: str) -> str:
    """Return the version of a package; '' if it is not installed.

    >>> version_of("no-such-package")
    ''
    """
    try:
        if version := importlib.metadata.version(package):
            return version
    except Exception:  # half a package can raise anything
        pass
    try:
        spec = importlib.util.find_spec(package.replace("-", "_"))
    except Exception:
        return ""
    # A mere folder of that name has no origin.
    return "unknown" if spec and spec.origin else ""


def versions() -> dict[str, str]:
    """Return the versions of the packages that matter and are installed."""
    names = [*NEEDED, *TENSORFLOW, *OTHERS]
    found = {name: version for name in names if (version := version_of(name))}
    # Two packages have this module: the one that is not installed has no metadata.
    if "tensorflow-cpu" in found and found.get("tensorflow") == "unknown":
        del found["tensorflow"]
    return found


def plugins() -> dict[str, str]:
    """Return the packages by which jax reaches accelerators, and their versions."""
    found = {}
    for package in importlib.metadata.distributions():
        try:
            name = re.sub(r"[-_.]+", "-", package.metadata["Name"]).lower()
            groups = {entry.group for entry in package.entry_points}
            if "jax_plugins" in groups or _PLUGIN.fullmatch(name):
                found[name] = package.version
        except Exception:  # as above
            continue
    return dict(sorted(found.items()))


def asked_of_jaxlib() -> str:
    """Return the versions of jaxlib that the installed jax allows."""
    try:
        wanted = importlib.metadata.requires("jax") or []
    except Exception:
        wanted = []
    found = (re.fullmatch(r"jaxlib\s*\(?([^;)]*)\)?", line) for line in wanted)
    return next((match[1].strip() for match in found if match), "")


def needs_resources() -> bool:
    """Tell whether TensorFlow Datasets is there and imports `importlib_resources`."""
    try:
        package = importlib.metadata.distribution("tensorflow-datasets")
        file = package.locate_file("tensorflow_datasets/core/dataset_builder.py")
        text = pathlib.Path(file).read_text("utf-8")
    except Exception:
        return False
    return "import importlib_resources" in text


def install_command() -> str:
    """Return the command that installs packages into this very environment."""
    here = shlex.quote(sys.executable)
    if importlib.util.find_spec("pip"):
        named = shutil.which("python") == sys.executable
        return f"{'python' if named else here} -m pip install"
    if shutil.which("uv"):
        return f"uv pip install --python {here}"
    return f"{here} -m ensurepip && {here} -m pip install"


def tensorflow_here() -> str:
    """Return which TensorFlow has a wheel for this machine.

    >>> tensorflow_here() in TENSORFLOW
    True
    """
    intel = platform.machine().lower() in ("x86_64", "amd64")
    return "tensorflow-cpu" if intel and sys.platform == "linux" else "tensorflow"


def ask(
    codes: dict[str, str], environ: dict[str, str], seconds: float
) -> dict[str, Outcome]:
    """Run some code in a process of its own; if that ends early, the rest in another.

    Args:
      codes: by name, what may fail; a variable `result`, a list, is handed back.
      environ: variables to set.
      seconds: how long to wait for a process.

    >>> found = ask({"a": "import os; os.abort()", "b": "result = ['x']"}, {}, 60)
    >>> found["a"].error, found["b"].result
    ('ended by SIGABRT', ('x',))
    """
    outcomes: dict[str, Outcome] = {}
    while waiting := {name: codes[name] for name in codes if name not in outcomes}:
        lines, ended = _run(waiting, environ, seconds)
        for line in lines:
            if line.startswith(_MARK):
                answer = json.loads(line[len(_MARK) :])
                errors, result = answer["errors"], tuple(answer["result"])
                error = errors[0].splitlines()[-1] if errors else ""
                outcomes[answer["name"]] = Outcome(error, "\n".join(errors), result)
        if guilty := next((name for name in waiting if name not in outcomes), ""):
            last = next((line for line in reversed(lines) if line.strip()), "")
            outcomes[guilty] = Outcome(ended or f"ended, and said last: {last}", last)
    return outcomes


def _run(
    codes: dict[str, str], environ: dict[str, str], seconds: float
) -> tuple[list[str], str]:
    """Return what a process says, and how it ended, if by force."""
    # A file, since a pipe would stay open as long as any process that was started.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        child = subprocess.Popen(
            [sys.executable, "-c", _CHILD, json.dumps(codes)],
            env=dict(os.environ, **environ),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
        try:
            status = child.wait(seconds)
            ended = f"ended by {signal.Signals(-status).name}" if status < 0 else ""
        except subprocess.TimeoutExpired:
            ended = f"no answer in {seconds:g} seconds"
        finally:
            _end(child)
        said.seek(0)
        return said.read().splitlines(), ended


def _end(child: subprocess.Popen) -> None:
    """End a process that runs still, and those that it started."""
    if child.poll() is None:
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
        child.wait()


def probe(found: dict[str, str], seconds: float) -> dict[str, Outcome]:
    """Try all for which there is what they need.

    Args:
      found: the packages that are installed.
      seconds: how long to wait for a process.
    """
    codes = {
        name: code
        for name, (needs, code) in PROBES.items()
        if all(package in found for package in needs)
    }
    if codes and sys.stderr.isatty():
        print(f"trying: {', '.join(codes)}", file=sys.stderr)
    outcomes = {}
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3"}
    if devices := codes.pop("devices", ""):
        # Memory that others use is left to them.
        environ = dict(quiet, XLA_PYTHON_CLIENT_PREALLOCATE="false")
        outcomes = ask({"devices": devices}, environ, seconds)
    # A TPU has one user at a time.
    environ = dict(quiet, JAX_PLATFORMS="cpu", CUDA_VISIBLE_DEVICES="")
    return {**outcomes, **ask(codes, environ, seconds)}


def examine(seconds: float = 300) -> Facts:
    """Find out all about this environment.

    Args:
      seconds: how long to wait for each probe.
    """
    found = versions()
    names = ("PYTHONDONTWRITEBYTECODE", "JAX_PLATFORMS")
    return Facts(
        versions=found,
        program=sys.executable,
        pip=install_command(),
        jaxlib=asked_of_jaxlib(),
        plugins=plugins(),
        resources=needs_resources(),
        tensorflow=tensorflow_here(),
        environ={name: os.environ[name] for name in names if os.environ.get(name)},
        outcomes=probe(found, seconds),
    )


# --- what is wrong with it ------------------------------------------------------------


def problems(facts: Facts) -> list[Finding]:
    """Return what does not work.

    >>> old = Facts({"etils": "1.14.0", "jax": "0.10.2"})
    >>> problems(old)[-1].cure
    'python -m pip install "etils>=1.15"'
    """
    found = [
        *_missing(facts),
        *known(facts),
        *_of_jaxlib(facts),
        *_without_modules(facts),
    ]
    # Where something is known to be wrong, what else fails may follow from it.
    return list(dict.fromkeys(found)) or _unknown(facts)


def _install(facts: Facts, *wanted: str) -> str:
    """Return the command that installs some packages."""
    quoted = [f'"{each}"' if re.search(r"[<>\[]", each) else each for each in wanted]
    return " ".join([facts.pip, *quoted])


def _missing(facts: Facts) -> Iterator[Finding]:
    """Yield what is not installed, or too old for all of it."""
    section = "install.html#install-pip"
    if not within(facts.python, PYTHON):
        what = f"Kauldron needs Python {PYTHON[2:]} or later, not {facts.python}"
        yield Finding(what, "uv venv --python 3.12", section)
    if "kauldron" not in facts.versions:
        what = "kauldron is not installed in this Python"
        yield Finding(what, _install(facts, "kauldron"), section)
        return
    for name in NEEDED:
        if name not in facts.versions:
            what = f"{name} is not installed, and Kauldron needs it"
            yield Finding(what, _install(facts, name), section)
    if not any(name in facts.versions for name in TENSORFLOW):
        what = "TensorFlow is not installed, and Kauldron needs it"
        cure = _install(facts, facts.tensorflow)
        yield Finding(what, cure, "install.html#install-platforms")
    if facts.resources and "importlib-resources" not in facts.versions:
        what = "TensorFlow Datasets needs importlib_resources, which is not installed"
        cure = _install(facts, "importlib-resources")
        yield Finding(what, cure, "install.html#install-widgets")


def known(facts: Facts) -> Iterator[Finding]:
    """Yield the rules that apply, by the versions or by the error."""
    for rule in RULES:
        outcome = facts.outcomes.get(rule.probe)
        worked = outcome is not None and not outcome.error
        have = {n: facts.versions.get(n, "") for n in rule.when}
        fits = all(v[:1].isdigit() and within(v, rule.when[n]) for n, v in have.items())
        said = any(rule.seen in each.text for each in facts.outcomes.values())
        if said or (fits and not worked):
            names = " and ".join(f"{n} {v or '(none)'}" for n, v in have.items())
            what = f"{names} do not fit together: {rule.seen}"
            yield Finding(what, _install(facts, rule.cure), rule.section)


def _of_jaxlib(facts: Facts) -> Iterator[Finding]:
    """Yield what is of another release than jaxlib or jax."""
    jaxlib = facts.versions.get("jaxlib", "")
    if not jaxlib[:1].isdigit():
        return
    if not within(jaxlib, facts.jaxlib):
        jax = facts.versions.get("jax")
        what = f"jax {jax} needs jaxlib{facts.jaxlib}, and jaxlib {jaxlib} is installed"
        cure = _install(facts, "--upgrade", "jax", "jaxlib")
        yield Finding(what, cure, "install.html#install-versions")
    for name, version in facts.plugins.items():
        # As jaxlib itself compares; plugins for other accelerators it does not.
        cuda = re.match(r"jax-(cuda\d*)-", name)
        if cuda and release(version) != release(jaxlib):
            what = f"{name} {version} is not of the release of jaxlib {jaxlib}: unused"
            cure = _install(facts, "--upgrade", f"jax[{cuda[1]}]")
            yield Finding(what, cure, "install.html#install-accelerators")


def _without_modules(facts: Facts) -> Iterator[Finding]:
    """Yield the modules that a probe did not find, where their package is known."""
    for name, outcome in facts.outcomes.items():
        match = re.search(r"No module named '(\w+)'", outcome.text)
        if match and match[1] in MODULES:
            cure = _install(facts, MODULES[match[1]])
            what = f"{name}: {match[0]}"
            yield Finding(what, cure, "install.html#install-versions")


def _unknown(facts: Facts) -> list[Finding]:
    """Return the first error that nothing explains."""
    newest = "--upgrade", "kauldron", "jax", "jaxlib", "etils", "flax", "optax"
    for name, outcome in facts.outcomes.items():
        if not outcome.error:
            continue
        what, cure = f"{name}: {outcome.error}", _install(facts, *newest)
        section = "errors.html#errors"
        if name == "devices":
            section = "install.html#install-accelerators"
            cure = _install(facts, "--upgrade", "jax", "jaxlib")
            if wanted := facts.environ.get("JAX_PLATFORMS"):
                what += f" (JAX_PLATFORMS={wanted})"
                cure = "unset JAX_PLATFORMS"
        return [Finding(what, cure, section)]
    return []


def advice(facts: Facts) -> list[Finding]:
    """Return what works, and would work better.

    >>> [found.cure for found in advice(Facts({"ipywidgets": "8.1"}))]
    []
    """
    found = []
    if "kauldron" in facts.versions and "ipywidgets" not in facts.versions:
        what = "ipywidgets is not installed: kd.inspect needs it in notebooks"
        cure = _install(facts, "ipywidgets")
        found.append(Finding(what, cure, "install.html#install-widgets"))
    if "PYTHONDONTWRITEBYTECODE" in facts.environ:
        what = "PYTHONDONTWRITEBYTECODE is set: imports may take twice as long"
        cure = "unset PYTHONDONTWRITEBYTECODE"
        found.append(Finding(what, cure, "install.html#install-imports"))
    seen = facts.outcomes.get("devices", Outcome()).result
    if facts.plugins and seen and all(" cpu " in device for device in seen):
        what = f"jax sees only the CPU, though {', '.join(facts.plugins)} is installed"
        cure = "python -c 'import jax; jax.devices()'  # says why, if you have a device"
        if "cpu" in facts.environ.get("JAX_PLATFORMS", ""):
            cure = "unset JAX_PLATFORMS"
        found.append(Finding(what, cure, "install.html#install-accelerators"))
    return found


# --- how it is said -------------------------------------------------------------------


def report(facts: Facts) -> str:
    """Return all that is known, what is wrong, and what cures it."""
    rows = {"Python": f"{facts.python}  {facts.program}"}
    names = [*NEEDED, *OTHERS[:1], *TENSORFLOW, *OTHERS[1:]]
    rows.update((name, facts.versions.get(name, "-")) for name in names)
    found = [f"{name} {version}" for name, version in facts.plugins.items()]
    rows["jax plugins"] = ", ".join(found) or "-"
    for name, outcome in facts.outcomes.items():
        rows[name] = outcome.error or ", ".join(outcome.result) or "works"
    width = max(map(len, rows))
    lines = [f"{name:{width}}  {row}" for name, row in rows.items()]
    wrong = problems(facts)
    for title, findings in {"PROBLEM": wrong, "advice": advice(facts)}.items():
        for each in findings:
            lines += ["", f"{title}: {each.what}"]
            lines += [f"  cure: {each.cure}", f"  read: {BOOK}{each.section}"]
    summary = {0: "No problem was found.", 1: "1 problem was found."}
    return "\n".join(
        [*lines, "", summary.get(len(wrong), f"{len(wrong)} problems were found.")]
    )


def as_json(facts: Facts) -> str:
    """Return the same as JSON."""
    found = dataclasses.asdict(facts)
    for name, findings in {"problems": problems, "advice": advice}.items():
        found[name] = [
            dict(dataclasses.asdict(each), section=f"{BOOK}{each.section}")
            for each in findings(facts)
        ]
    return json.dumps(found, indent=1)


def main(arguments: list[str] | None = None) -> int:
    """Examine this environment, print what was found, and return the exit status."""
    parser = argparse.ArgumentParser(prog="doctor", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--timeout",
        type=float,
        default=300,
        metavar="SECONDS",
        help="how long to wait for each import (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    if not options.timeout > 0:
        parser.error("argument --timeout: a number above 0, please")
    facts = examine(options.timeout)
    print(as_json(facts) if options.json else report(facts))
    return 1 if problems(facts) else 0


if __name__ == "__main__":
    # An error may hold what this terminal cannot show.
    sys.stdout.reconfigure(errors="replace")
    raise SystemExit(main())
