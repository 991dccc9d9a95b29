"""Measures what an older Kauldron says beside newer packages, for the page on errors.

    make compat        # writes snippets/recorded/older-kauldron.json

Each combination gets an environment of its own under _build/compat, and runs this
file with ``probe`` in it. Needs a package index that still has the old releases.
"""

import json
import sys

import trying

RECORD = trying.ROOT / "snippets" / "recorded" / "older-kauldron.json"

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

    attempts = {
        "check a shape": shape,
        "import the trainer": trainer,
        "take AbstractPartialLoader": loader,
    }
    return trying.outcomes(attempts, first_line)


def first_line(error: BaseException) -> str:
    """Return the first line of an error."""
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"


def record() -> None:
    """Run `probe` under every combination and write what it found."""
    runs = []
    for versions in COMBINATIONS:
        folder = trying.environment(versions, OTHERS)
        runs.append(versions | {"results": trying.probed(folder, __file__)})
        print(json.dumps(runs[-1], indent=1))
    trying.record(RECORD, runs)


if __name__ == "__main__":
    if sys.argv[1:2] == ["probe"]:
        print("\n" + json.dumps(probe()))
    else:
        record()
