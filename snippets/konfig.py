"""A config is a tree of calls, kept as a dict: what the chapter *konfig* shows."""

import ast
import json
import pathlib
import types

import jax
import numpy as np
from kauldron import konfig, kontext

ABSENT = "(absent)"


def leaves(cfg: konfig.ConfigDict) -> dict[str, object]:
    """Return every value of a config by its path.

    >>> leaves(konfig.ConfigDict({"a": {"b": 1}, "c": [2, 3]}))
    {'a.b': 1, 'c[0]': 2, 'c[1]': 3}
    """
    values = konfig.ConfigDict(json.loads(cfg.to_json()))
    # JAX, which flattens, takes None for a tree without leaves.
    return kontext.flatten_with_path(values, is_leaf=lambda value: value is None)


def diff(old: konfig.ConfigDict, new: konfig.ConfigDict) -> dict[str, tuple]:
    """Return what differs between two configs, as ``{path: (old, new)}``.

    A value that only one of them has stands against `ABSENT`. Values of two types
    differ, such as 1 and 1.0. A dict without fields has no value, so it cannot differ.

    >>> old = konfig.ConfigDict({"a": 1, "b": 2})
    >>> diff(old, konfig.ConfigDict({"a": 1, "b": 3, "c": 4}))
    {'b': (2, 3), 'c': ('(absent)', 4)}
    """
    before, after = leaves(old), leaves(new)
    paths = [*before, *(path for path in after if path not in before)]
    pairs = {p: (before.get(p, ABSENT), after.get(p, ABSENT)) for p in paths}
    return {
        p: (a, b) for p, (a, b) in pairs.items() if type(a) is not type(b) or a != b
    }


def save(cfg: konfig.ConfigDict, path: pathlib.Path) -> None:
    """Write a config as JSON, one value a line, so that `git diff` can show changes."""
    path.write_text(cfg.to_json(indent=2) + "\n", "utf-8")


def load(path: pathlib.Path) -> konfig.ConfigDict:
    """Read a config that `save` wrote.

    Raises:
      json.JSONDecodeError: if the file is not JSON.
    """
    return konfig.ConfigDict(json.loads(path.read_text("utf-8")))


def one_update(optimizer, gradient: np.ndarray) -> np.ndarray:
    """Apply an optax optimizer once, from its initial state.

    Args:
      optimizer: an `optax.GradientTransformation`.
      gradient: float32 `(n,)`, the gradient at parameters of zero.

    Returns:
      float32 `(n,)`, the update that optax would add to the parameters.

    >>> import optax
    >>> one_update(optax.sgd(0.5), np.array([2.0, -4.0], np.float32)).tolist()
    [-1.0, 2.0]
    """
    parameters = jax.numpy.zeros_like(gradient)
    updates, _ = optimizer.update(gradient, optimizer.init(parameters), parameters)
    return np.asarray(updates)


def imported_by(package: types.ModuleType) -> set[str]:
    """Return the top-level packages that a package's source imports anywhere.

    >>> import json
    >>> "re" in imported_by(json), "kauldron" in imported_by(json)
    (True, False)
    """
    names = set()
    for path in pathlib.Path(package.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.split(".")[0])
    return names
