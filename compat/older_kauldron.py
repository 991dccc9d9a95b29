"""Measures what an older Kauldron says beside newer packages, for the page on errors.

    make compat        # writes snippets/recorded/older-kauldron.json

Each combination gets an environment of its own under _build/compat, and runs this
file with ``probe`` in it. Needs a package index that still has the old releases.
"""

import datetime
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORD = ROOT / "snippets" / "recorded" / "older-kauldron.json"

# The last release before 1.4, with packages that were new then and that are new now.
COMBINATIONS = [
    {"kauldron": "1.3.0", "jax": "0.10.1", "typeguard": "4.4.4"},
    {"kauldron": "1.3.0", "jax": "0.10.1", "typeguard": "4.6.1"},
    {"kauldron": "1.3.0", "jax": "0.12.0.1", "typeguard": "4.6.1"},
    {"kauldron": "1.4.4", "jax": "0.12.0.1", "typeguard": "4.6.1"},
]
# What these releases use and do not declare.
OTHERS = ["ipywidgets", "importlib-resources", "tensorboard"]


def probe() -> dict[str, str]:
    """Try the things that a user meets; return ``ok`` or the error for each."""
    import numpy as np

    def shape():
        from kauldron.typing import Float, typechecked

        @typechecked
        def add(x: Float["n"], y: Float["n"]) -> Float["n"]:
            return x + y

        add(np.zeros(3), np.zeros(3))

    def trainer():
        from kauldron import kd

        kd.train.Trainer  # noqa: B018

    def loader():
        from kauldron import kd

        kd.ckpts.AbstractPartialLoader  # noqa: B018

    results = {}
    for name, attempt in (
        ("check a shape", shape),
        ("import the trainer", trainer),
        ("take AbstractPartialLoader", loader),
    ):
        try:
            attempt()
            results[name] = "ok"
        except Exception as error:
            first = str(error).strip().splitlines()[0]
            results[name] = f"{type(error).__name__}: {first}"
    return results


def record() -> None:
    """Run `probe` under every combination and write what it found."""
    found = []
    for versions in COMBINATIONS:
        wanted = [f"{name}=={version}" for name, version in versions.items()]
        folder = ROOT / "_build" / "compat" / "-".join(wanted).replace("==", "-")
        python = folder / "bin" / "python"
        uv = str(ROOT / ".tools" / "bin" / "uv")
        if not python.exists():
            subprocess.run(
                [uv, "venv", "-q", "--python", sys.executable, folder], check=True
            )
        subprocess.run(
            [uv, "pip", "install", "-q", "--python", python, *wanted, *OTHERS],
            check=True,
        )
        run = subprocess.run(
            [python, __file__, "probe"],
            env=os.environ | {"JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"},
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode:
            raise SystemExit(f"the probe failed under {wanted}:\n{run.stderr}")
        found.append(versions | {"results": json.loads(run.stdout.splitlines()[-1])})
        print(json.dumps(found[-1], indent=1))
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    RECORD.write_text(
        json.dumps({"measured": date, "runs": found}, indent=1) + "\n", "utf-8"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["probe"]:
        print("\n" + json.dumps(probe()))
    else:
        record()
