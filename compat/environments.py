"""Makes an environment for each combination of versions, with uv."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib

from book.cells import ROOT
from compat.matrix import PACKAGES, Combination

UV = str(ROOT / ".tools" / "bin" / "uv")
FOLDER = ROOT / "_build" / "compat"
REPOSITORY = "https://github.com/google-research/kauldron"

# GB that an environment was measured to take. Less, where uv can link files that it
# has in its cache already.
SIZE = 3.5

# Of these the record says which version was installed.
RECORDED = (*PACKAGES, "jaxlib", "numpy", "tensorflow", "tensorflow-cpu", "grain")
# What Kauldron and its dependencies use without declaring it, besides what
# pyproject.toml names.
UNDECLARED = ("tensorboard",)

# Where an environment of the book's Python has its packages.
_BELOW = pathlib.Path(sysconfig.get_path("purelib")).relative_to(sys.prefix).parts

_UNREACHABLE = re.compile(
    r"dns error|error sending request|failed to lookup|[Cc]ould not (resolve|connect)"
    r"|tcp connect error|network (is )?unreachable"
)


class CannotInstall(Exception):
    """There is no such set of packages, or it cannot be had; with uv's last words.

    Attributes:
      unreachable: whether the network is the reason, which says nothing of the set.
    """

    def __init__(self, said: str):
        super().__init__(said)
        self.unreachable = bool(_UNREACHABLE.search(said))


def python_of(combination: Combination) -> pathlib.Path:
    """Return the path of a combination's interpreter, which need not be there yet."""
    return FOLDER / combination.name / "bin" / "python"


def say_what_it_takes(combinations: list[Combination], at_once: bool = True) -> None:
    """Print how much disk the environments need that are not there yet.

    Args:
      combinations: what will be tried.
      at_once: whether the environments stay; if not, there is one at a time.

    Raises:
      SystemExit: if the disk has less.
    """
    missing = [
        each for each in combinations if not each.alone and not python_of(each).exists()
    ]
    FOLDER.mkdir(parents=True, exist_ok=True)
    count = len(missing) if at_once else min(1, len(missing))
    free, needed = shutil.disk_usage(FOLDER).free / 1e9, count * SIZE
    print(
        f"Environments to make in {FOLDER.relative_to(ROOT)}: {len(missing)}, about "
        f"{SIZE:g} GB each, up to {needed:.1f} GB at once. Free: {free:.1f} GB. "
        "`make compat-clean` removes them.",
        flush=True,
    )
    if needed > free:
        raise SystemExit(
            "compat: the disk has not enough. Try fewer, `make compat ONLY=name`, or "
            "one at a time, `make compat DROP=1`."
        )


def install(combination: Combination) -> dict[str, str]:
    """Make a combination's environment, or bring it up to date.

    Returns:
      the versions of all packages in it, by name.

    Raises:
      CannotInstall: if that cannot be done.
    """
    python = python_of(combination)
    if not python.exists():
        _uv("venv", "--clear", "--python", _interpreter(combination), python.parents[1])
    into = ["--python", str(python)]
    if combination.alone:
        return _lay_over(python, combination)
    if combination.lock:
        _uv("pip", "sync", *into, "requirements.lock")
        return versions(python)
    _uv("pip", "install", "--upgrade", *into, *limits(combination), *asked(combination))
    # The book's tools are not what is tried: they may be newer, and change nothing of
    # it. What is no part of it may change: a tool needs a newer SQLAlchemy.
    kept = python.parents[1] / "tried.txt"
    tried = recorded(versions(python)).items()
    lines = [f"{name}=={version.split()[0]}" for name, version in sorted(tried)]
    kept.write_text("\n".join(lines), "utf-8")
    _uv("pip", "install", *into, "--constraint", kept, *tools())
    # Pages about the book ask for its own version.
    _uv("pip", "install", *into, "--no-deps", "--editable", str(ROOT))
    return versions(python)


def drop(combination: Combination) -> None:
    """Remove a combination's environment."""
    shutil.rmtree(python_of(combination).parents[1], ignore_errors=True)


def _lay_over(python: pathlib.Path, combination: Combination) -> dict[str, str]:
    """Install what is asked for where it hides what the book's environment has."""
    here = sysconfig.get_path("purelib")
    python.parents[1].joinpath(*_BELOW, "below.pth").write_text(f"{here}\n", "utf-8")
    _uv("pip", "install", "--no-deps", "--python", str(python), *asked(combination))
    return versions(pathlib.Path(sys.executable)) | versions(python)


def asked(combination: Combination) -> list[str]:
    """Return what uv is asked for: the versions that are tried, and what they need."""
    exactly = [f"{name}=={version}" for name, version in combination.asked.items()]
    if combination.alone:
        return exactly
    if combination.git:
        exactly.append(f"kauldron @ git+{REPOSITORY}@{combination.git}")
    elif "kauldron" not in combination.asked:
        exactly.append("kauldron")
    return [*exactly, *_project()["project"]["undeclared"], *UNDECLARED]


def limits(combination: Combination) -> list[str]:
    """Return the options that keep out what was released after a combination's date."""
    if not combination.date:
        return []
    exempt = (f"{name}=2100-01-01" for name in combination.asked)
    return [
        f"--exclude-newer={combination.date}",
        *(f"--exclude-newer-package={each}" for each in exempt),
    ]


def tools() -> list[str]:
    """Return what cells and claims use that is the book's own: its kernel for one."""
    return [*_project()["dependency-groups"]["book"], "pytest", "sybil", "hypothesis"]


def _project() -> dict:
    found = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    names = [re.split(r"[=<>; ]", line)[0] for line in found["project"]["dependencies"]]
    wanted = [name for name in names if name not in (*PACKAGES, "numpy", "tensorflow")]
    found["project"]["undeclared"] = wanted
    return found


def versions(python: pathlib.Path) -> dict[str, str]:
    """Return the versions of all packages of an environment, and of its Python.

    A package that came from a repository has its commit beside its version.
    """
    packages = json.loads(_uv("pip", "list", "--format=json", "--python", str(python)))
    found = {each["name"]: each["version"] for each in packages}
    freeze = _uv("pip", "freeze", "--python", str(python))
    for name, commit in re.findall(r"^(\S+) @ git\+\S+@([0-9a-f]{40})$", freeze, re.M):
        found[name] += f" at {commit[:10]}"
    say = "import platform; print(platform.python_version())"
    found["python"] = subprocess.check_output([python, "-c", say], text=True).strip()
    found.pop("kauldron-executed", None)  # which is not tried
    return found


def recorded(found: dict[str, str]) -> dict[str, str]:
    """Return the versions that the record keeps, of those that were installed."""
    return {name: found[name] for name in RECORDED if name in found}


def _interpreter(combination: Combination) -> str:
    """Return the path of the Python that a combination asks for.

    uv stops at a stand-in of pyenv's for a Python that is installed and not switched
    on, so pyenv is asked next.

    Raises:
      CannotInstall: if the machine has none and uv cannot fetch one.
    """
    if combination.alone:
        return sys.executable
    try:
        return _uv("python", "find", "--no-project", combination.python).strip()
    except CannotInstall as error:
        pyenv = pathlib.Path(os.environ.get("PYENV_ROOT") or "~/.pyenv").expanduser()
        for path in sorted(pyenv.glob(f"versions/{combination.python}*/bin/python")):
            return str(path)
        raise error from None


def _uv(*arguments: str | pathlib.Path) -> str:
    """Run uv, where it finds the overrides of pyproject.toml; return what it printed.

    Raises:
      CannotInstall: if it fails.
    """
    run = subprocess.run(
        [UV, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise CannotInstall(run.stderr)
    return run.stdout
