"""Measures which versions of jax and etils fail together, for the install page.

    make compat        # writes snippets/recorded/etils-prng.json

Each combination gets an environment of its own under _build/compat, and runs this
file with ``probe`` in it. Needs a package index that still has the old releases.
"""

import json
import pathlib
import sys

import trying

ROOT = trying.ROOT
RECORD = ROOT / "snippets" / "recorded" / "etils-prng.json"
PATCH = ROOT / "snippets" / "install.py"

# kauldron, jax, etils; and whether the patch of snippets/install.py is applied.
COMBINATIONS = [
    ("1.4.2", "0.10.1", "1.14.0", False),
    ("1.4.2", "0.10.2", "1.14.0", False),
    ("1.4.2", "0.10.2", "1.14.0", True),
    ("1.4.2", "0.10.2", "1.15.0", False),
]
# What else was newest then, so that the combination resolves to what a user had.
OTHERS = [
    "flax==0.12.8",
    "optax==0.2.8",
    "numpy==2.5.5",
    "ipywidgets",
    "importlib-resources",
]


def probe(patched: bool) -> dict[str, str]:
    """Try the things that a user meets; return ``ok`` or the error for each."""
    import jax.numpy as jnp
    import numpy as np
    from etils import enp
    from flax import linen as nn
    from kauldron import kd, kontext
    from kauldron.typing import Float, typechecked

    if patched:
        sys.path.insert(0, str(ROOT))
        from snippets.install import patch_etils

        patch_etils()

    class Linear(nn.Module):
        """The smallest model that trains."""

        x: kontext.Key = "batch.x"

        @nn.compact
        def __call__(self, x):
            return {"y": nn.Dense(1)(x)}

    def pipeline():
        rows = {"x": np.ones((8, 2), np.float32), "y": np.ones((8, 1), np.float32)}
        return kd.data.InMemoryPipeline(
            loader=lambda: rows, batch_size=4, shuffle=False, seed=0
        )

    def describe():
        enp.ArraySpec(shape=(3,), dtype=np.float32)

    def shape_error():
        @typechecked
        def add(x: Float["n"], y: Float["n"]) -> Float["n"]:
            return x + y

        try:
            add(jnp.zeros(3), jnp.zeros(4))
        except Exception as error:
            assert "Inferred Dims" in str(error)

    def batch():
        next(iter(pipeline()))

    def element_spec():
        assert pipeline().element_spec["x"].shape == (4, 2)

    def train():
        import optax

        kd.train.Trainer(
            train_ds=pipeline(),
            model=Linear(),
            optimizer=optax.sgd(0.1),
            train_losses={"l2": kd.losses.L2(preds="preds.y", targets="batch.y")},
            num_train_steps=2,
            workdir=pathlib.Path("work").absolute(),
        ).train()

    attempts = {
        "describe an array": describe,
        "read a shape error": shape_error,
        "take a batch": batch,
        "ask a pipeline for its element_spec": element_spec,
        "train two steps": train,
    }
    return trying.outcomes(attempts, said_first)


def said_first(error: BaseException) -> str:
    """Return the last line of the first error: Kauldron wraps, the first says most."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {str(error).strip().splitlines()[-1]}"


def record() -> None:
    """Run `probe` under every combination and write what it found."""
    runs = []
    for kauldron, jax, etils, patched in COMBINATIONS:
        versions = {"kauldron": kauldron, "jax": jax, "etils": etils}
        folder = trying.environment(versions, OTHERS)
        found = trying.probed(folder, __file__, "patched" if patched else "as it is")
        runs.append(versions | {"patched": patched, "results": found})
        print(json.dumps(runs[-1], indent=1))
    trying.record(RECORD, runs)


if __name__ == "__main__":
    if sys.argv[1:2] == ["probe"]:
        print("\n" + json.dumps(probe(patched=sys.argv[2] == "patched")))
    else:
        record()
