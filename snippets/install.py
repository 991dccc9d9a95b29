"""What the chapter *install* shows: versions, the CPU, and a fault between releases."""

import importlib.metadata
import importlib.resources
import json
import platform

import jax
import numpy as np
from etils import enp
from etils.enp import array_spec

PACKAGES = (
    "kauldron",
    "jax",
    "jaxlib",
    "flax",
    "optax",
    "etils",
    "numpy",
    "orbax-checkpoint",
    "grain",
)


def versions() -> dict[str, str]:
    """Return the versions of this Python and of the packages that the book is about.

    >>> versions()["kauldron"]
    '1.4.4'
    """
    found = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {"Python": platform.python_version(), **found}


def table(rows: dict[str, object]) -> str:
    """Return a dict as two columns of text.

    >>> print(table({"jax": 1, "optax": 2}))
    jax    1
    optax  2
    """
    width = max(len(name) for name in rows)
    return "\n".join(f"{name:{width}}  {value}" for name, value in rows.items())


def etils_fails() -> bool:
    """Tell whether etils fails to describe an array's dtype under this jax.

    It calls the thing: version numbers say what was released, not what is installed
    or patched.

    >>> etils_fails()
    False
    """
    try:
        enp.ArraySpec(shape=(1,), dtype=np.float32)
    except AttributeError:
        return True
    return False


def patch_etils() -> bool:
    """Replace the one function of etils that fails, and only where it does.

    Returns:
      Whether it was needed.

    >>> patch_etils()
    False
    """
    needed = etils_fails()
    if needed:

        def is_key(dtype) -> bool:
            return jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)

        array_spec._is_jax_random_dtype = is_key
    return needed


def recorded(name: str) -> dict:
    """Return a measurement that is committed, because a build cannot repeat it.

    Args:
      name: `etils-prng` (`make compat` measures it) or `imports` (`make bench`).

    Raises:
      FileNotFoundError: if there is none of that name.

    >>> sorted(recorded("imports"))
    ['machine', 'measured', 'seconds', 'versions']
    """
    path = importlib.resources.files("snippets") / "recorded" / f"{name}.json"
    return json.loads(path.read_text("utf-8"))


def etils_runs() -> str:
    """Return the recorded runs of the etils fault, one paragraph each, as text."""
    paragraphs = []
    for run in recorded("etils-prng")["runs"]:
        patched = " with the patch" if run["patched"] else ""
        names = ", ".join(
            f"{name} {run[name]}" for name in ("kauldron", "jax", "etils")
        )
        title = names + patched
        paragraphs.append(
            title + "\n" + table({f"  {k}": v for k, v in run["results"].items()})
        )
    return "\n\n".join(paragraphs)
