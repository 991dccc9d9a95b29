"""Tells whether a dotted name leads somewhere in the libraries that are installed.

Asked of a name in a sentence it has to import the library. Of Kauldron's trainer that
takes 10 s and more, so a build asks another process, all names at once: a fork of the
one that has imported everything, if it has run pages, and a new one if not. (Measured
for all names of the book: 8 s in a new one, 0.3 s in a fork.) It keeps the answers
below ``_build`` for as long as lock and Python stay the same. Not in Sphinx's own
process: importing there would be paid in every build, and leave TensorFlow's threads.
"""

import contextlib
import dataclasses
import hashlib
import importlib
import inspect
import json
import os
import pathlib
import subprocess
import sys

from book import leash, warm
from book.cells import ROOT
from book.public import bare

# What a name in a sentence may begin with, and the module that it stands for. A page
# that gives one of them another meaning, by an import in a cell, has its own way.
ALIASES = {
    "kauldron": "kauldron",
    "kd": "kauldron.kd",
    "konfig": "kauldron.konfig",
    "kontext": "kauldron.kontext",
    "ktyping": "kauldron.ktyping",
    "kt": "kauldron.ktyping",
    "jax": "jax",
    "jnp": "jax.numpy",
    "np": "numpy",
    "numpy": "numpy",
    "flax": "flax",
    "nn": "flax.linen",
    "nnx": "flax.nnx",
    "optax": "optax",
    "etils": "etils",
    "epath": "etils.epath",
    "orbax": "orbax",
    "ocp": "orbax.checkpoint",
    "grain": "grain",
    "tf": "tensorflow",
    "tensorflow": "tensorflow",
    "tfds": "tensorflow_datasets",
    "jaxtyping": "jaxtyping",
    "ml_collections": "ml_collections",
    "dataclasses": "dataclasses",
}

CACHE = ROOT / "_build" / "names.json"


class Missing(LookupError):
    """A name that leads nowhere; its text says where the way ends."""


def resolve(name: str) -> object:
    """Return what a dotted name stands for, by importing it.

    Raises:
      Missing: if it leads nowhere.

    >>> resolve("konfig.resolve").__name__
    'resolve'
    >>> resolve("konfig.solve")
    Traceback (most recent call last):
    book.resolving.Missing: kauldron.konfig has no solve
    """
    first, *rest = name.split(".")
    if first not in ALIASES:
        if not bare().get(first):
            raise Missing(
                f"no library and no public name of Kauldron is called {first}"
            )
        return resolve(".".join([bare()[first], *rest]))
    so_far = ALIASES[first]
    if first == "kd" and rest:
        # In 1.4.4 `kd.export` is a circular import as long as nothing else has asked.
        importlib.import_module("kauldron.train")
    found = importlib.import_module(so_far)
    for part in rest:
        try:
            found = getattr(found, part)
        except AttributeError:
            found = _submodule(so_far, part)
        so_far += f".{part}"
    return found


def _submodule(module: str, name: str) -> object:
    # Only of what is a module: `import_module` asks `sys.modules` first.
    if module in sys.modules:
        with contextlib.suppress(ModuleNotFoundError):
            return importlib.import_module(f"{module}.{name}")
    raise Missing(f"{module} has no {name}")


def member(name: str) -> None:
    """Check that a name leads to a field, a parameter or another member of its owner.

    A field without a default is none of a class's attributes, so dataclass fields and
    signatures are asked as well.

    Raises:
      Missing: if the owner does not exist or has no such member.

    >>> member("Trainer.model"), member("konfig.resolve.freeze")
    (None, None)
    >>> member("Trainer.modell")
    Traceback (most recent call last):
    book.resolving.Missing: Trainer has no modell
    """
    owner, _, last = name.rpartition(".")
    if not owner:
        raise Missing(f"{name} has no owner; write Owner.{name}")
    found = resolve(owner)
    names = set(dir(found)) | set(getattr(found, "__annotations__", ()))
    if dataclasses.is_dataclass(found):
        names |= {field.name for field in dataclasses.fields(found)}
    with contextlib.suppress(
        TypeError, ValueError
    ):  # not called, or without a signature
        names |= set(inspect.signature(found).parameters)
    if last not in names:
        raise Missing(f"{owner} has no {last}")


def answer(question: str) -> str:
    """Return what is wrong with a name, '' if nothing is.

    Args:
      question: what is said of the name, and the name.

    >>> answer("name konfig.resolve"), answer("absent konfig.solve")
    ('', '')
    >>> answer("absent konfig.resolve")
    'konfig.resolve exists'
    """
    kind, name = question.split()
    try:
        member(name) if kind == "field" else resolve(name)
    except Missing as missing:
        return "" if kind == "absent" else str(missing)
    except ImportError as error:
        return f"cannot be imported: {error}"
    return f"{name} exists" if kind == "absent" else ""


def answers(questions: set[str], cache: pathlib.Path = CACHE) -> dict[str, str]:
    """Return the answer to each question, from an earlier build where it is known.

    Raises:
      RuntimeError: if the process that imports the libraries fails.
    """
    key = _key()
    try:
        kept = json.loads(cache.read_text("utf-8"))
        known = kept["answers"] if kept["key"] == key else {}
    except (OSError, ValueError, KeyError, TypeError):  # none, or cut off
        known = {}
    if asked := sorted(questions - set(known)):
        known |= _ask(asked)
        cache.parent.mkdir(parents=True, exist_ok=True)
        # Another build may do the same at the same time: each replaces the whole.
        new = cache.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps({"key": key, "answers": known}), "utf-8")
        new.replace(cache)
    return {question: known[question] for question in questions}


def _ask(questions: list[str]) -> dict[str, str]:
    with leash.folder() as folder:
        given, wanted = pathlib.Path(folder, "asked"), pathlib.Path(folder, "answers")
        given.write_text(json.dumps(questions), "utf-8")
        # In a build that has run pages, the process that has imported everything is
        # still there.
        with contextlib.suppress(warm.WarmKernelsFailed):
            warm.run("book.resolving", str(given), str(wanted))
        if not wanted.exists():
            run = subprocess.run(
                [sys.executable, "-m", "book.resolving", str(given), str(wanted)],
                capture_output=True,
                text=True,
            )
            if run.returncode:
                raise RuntimeError(f"the names could not be looked up:\n{run.stderr}")
        return json.loads(wanted.read_text("utf-8"))


def _key() -> str:
    """Return what the answers depend on: the versions and this module's rules."""
    found = hashlib.sha256(sys.version.encode())
    here = pathlib.Path(__file__)
    for path in (ROOT / "requirements.lock", here, here.with_name("public.py")):
        found.update(path.read_bytes())
    return found.hexdigest()


def main() -> None:
    """Read questions from the file that is named first, write answers to the second."""
    given, wanted = map(pathlib.Path, sys.argv[1:])
    found = {asked: answer(asked) for asked in json.loads(given.read_text("utf-8"))}
    wanted.write_text(json.dumps(found), "utf-8")


if __name__ == "__main__":
    main()
