"""Makes environments, good ones and broken ones, and has the doctor examine them."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap
import types

from book.cells import ROOT
from snippets import doctor

FILE = ROOT / "snippets" / "doctor.py"
# What would change the doctor's answers, and is set where these tests run.
OURS = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "JAX_PLATFORMS")

# Packages that do just what the probes ask for, as if all were well.
MODULES = {
    "kauldron/__init__.py": "",
    "kauldron/kd.py": "class train:\n    Trainer = None\n",
    "kauldron/typing.py": "Float = {'n': None}\ntypechecked = lambda f: f\n",
    "jax.py": """
        import types
        cpu = types.SimpleNamespace(platform="cpu", device_kind="cpu")
        devices = lambda: [cpu, cpu]
        """,
    "numpy.py": "float32, ones = float, lambda n, dtype: [dtype(1)] * n\n",
    "etils/__init__.py": "",
    "etils/enp.py": "ArraySpec = dict\n",
}
PACKAGES = {name: "1.0" for name in doctor.NEEDED} | {
    "kauldron": "1.4.4",
    "jax": "0.12.0.1",
    "jaxlib": "0.12.0.1",
    "etils": "1.15.0",
    "typeguard": "4.6.1",
    "tensorflow-cpu": "2.21.0",
    "ipywidgets": "8.1.9",
    "importlib-resources": "7.1.0",
}


def bare(folder: pathlib.Path) -> pathlib.Path:
    """Make a Python that has no packages, not even pip."""
    command = [sys.executable, "-m", "venv", "--without-pip", folder]
    subprocess.run(command, check=True)
    return folder / "bin" / "python"


def write(
    folder: pathlib.Path,
    packages: dict[str, str | None],
    modules: dict[str, str],
    lines: dict[str, str],
) -> None:
    """Write packages into a folder, those above but for what is said otherwise.

    Args:
      folder: that is to be on the path.
      packages: their versions; `None` for one that is not to be there.
      modules: the texts of their files.
      lines: more lines of their metadata, by the packages' names.
    """
    packages, modules = PACKAGES | packages, MODULES | modules
    for name, version in packages.items():
        if version is not None:
            record = folder / f"{name.replace('-', '_')}-{version}.dist-info"
            record.mkdir()
            text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            (record / "METADATA").write_text(text + lines.get(name, ""))
    for name, text in modules.items():
        package = name.split("/")[0].removesuffix(".py").replace("_", "-")
        if packages.get(package, "") is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(textwrap.dedent(text))


def examined(python, folder: pathlib.Path, *options: str, code: str = "", **environ):
    """Run the doctor's file alone, as a reader does; return its status and its JSON.

    Args:
      python: that runs it.
      folder: where it is put, and run.
      options: of its command line.
      code: what is run instead of the file.
      environ: variables to set.
    """
    shutil.copy(FILE, folder)
    theirs = {name: value for name, value in os.environ.items() if name not in OURS}
    run = subprocess.run(
        [python, *(["-c", code] if code else ["doctor.py"]), "--json", *options],
        cwd=folder,
        env=theirs | environ,
        capture_output=True,
        text=True,
    )
    assert run.returncode in (0, 1), run.stderr
    said = json.loads(run.stdout, object_hook=lambda d: types.SimpleNamespace(**d))
    return run.returncode, said
