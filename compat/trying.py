"""Tries things under other versions: an environment each, and what was found, recorded.

Only the standard library is used, since the probes import nothing of ours under the
versions that they try.
"""

import datetime
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parent.parent


def environment(versions: dict[str, str], others: list[str]) -> pathlib.Path:
    """Return the folder of an environment that has these packages.

    It stays below _build/compat, for the next time.

    Args:
      versions: of the packages that are tried, by name.
      others: what else has to be there, as uv wants it.

    Raises:
      subprocess.CalledProcessError: if uv finds no such set; it says why on stderr.
    """
    uv = str(ROOT / ".tools" / "bin" / "uv")
    wanted = [f"{name}=={version}" for name, version in versions.items()]
    folder = ROOT / "_build" / "compat" / "-".join(wanted).replace("==", "-")
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run(
            [uv, "venv", "-q", "--python", sys.executable, folder], check=True
        )
    install = [uv, "pip", "install", "-q", "--python", python, *wanted, *others]
    subprocess.run(install, check=True)
    return folder


def probed(folder: pathlib.Path, file: str, *arguments: str) -> dict[str, str]:
    """Run a file with ``probe`` in an environment, and return what it found.

    Raises:
      SystemExit: if the file itself fails, with its traceback.
    """
    run = subprocess.run(
        [folder / "bin" / "python", file, "probe", *arguments],
        env=os.environ | {"JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise SystemExit(f"the probe failed in {folder.name}:\n{run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def outcomes(
    attempts: dict[str, Callable[[], object]], line: Callable[[BaseException], str]
) -> dict[str, str]:
    """Call each, and return ``ok`` or the error's type and the line that says most."""
    results = {}
    for name, attempt in attempts.items():
        try:
            attempt()
            results[name] = "ok"
        except Exception as error:
            results[name] = line(error)
    return results


def record(path: pathlib.Path, runs: list[dict]) -> None:
    """Write what was found under each set of versions, with the date."""
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    text = json.dumps({"measured": date, "runs": runs}, indent=1)
    path.write_text(f"{text}\n", "utf-8")
