"""Runs an exported model. It knows JAX and NumPy, and nothing of Kauldron."""

import pathlib
import sys

import jax
import numpy as np


def nested(flat: dict[str, np.ndarray]) -> dict:
    """Return arrays by path as the nested dict that they came from.

    >>> nested({"enc.bias": 0, "enc.kernel": 1, "out.bias": 2})
    {'enc': {'bias': 0, 'kernel': 1}, 'out': {'bias': 2}}
    """
    tree = {}
    for path, value in flat.items():
        *folders, name = path.split(".")
        place = tree
        for folder in folders:
            place = place.setdefault(folder, {})
        place[name] = value
    return tree


def main(model: str, params: str, count: str) -> None:
    """Print the predictions for some rows of ones, and what was imported for it.

    Args:
      model: the file that `JaxModelExporter` wrote.
      params: an `npz` file of the parameters, by their paths.
      count: how many rows.
    """
    exported = jax.export.deserialize(pathlib.Path(model).read_bytes())
    with np.load(params) as flat:
        tree = nested(dict(flat))
    x = np.ones((int(count), 16), np.float32)
    out = exported.call(params=tree, key=jax.random.PRNGKey(0), x=x)
    print(*(f"{y:.4f}" for y in out["preds"]["y"][:, 0]))
    for name in ("jax", "flatbuffers", "flax", "kauldron", "snippets.experiment"):
        print(f"{name:20} {name in sys.modules}")
    assert "kauldron" not in sys.modules


if __name__ == "__main__":
    main(*sys.argv[1:])
