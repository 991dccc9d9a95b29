"""Knows the public names of Kauldron and where each is defined, from its source.

Read with `ast`, not by importing: all of `kd` takes half a minute to import, and a
build after a changed sentence should not wait for it. tests/book/test_names.py holds
what is read here equal to what an import gives.
"""

import ast
import dataclasses
import functools
import importlib.metadata
import importlib.util
import pathlib

UPSTREAM = "https://github.com/google-research/kauldron/blob"

# Modules that have a name of their own beside `kd`, by that name.
_OWN = {
    "konfig": "kauldron.konfig",
    "kontext": "kauldron.kontext",
    "kauldron.typing": "kauldron.typing",
    "kauldron.ktyping": "kauldron.ktyping",
}
# Modules in modules of `kd`. Not `data.tf`: it needs a part of grain without release.
_NESTED = ("data.py", "data.iters")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Definition:
    """Where something is defined.

    Attributes:
      module: the module, such as ``kauldron.train.trainer_lib``.
      name: its name there; '' for the module itself.
      lines: its first and last line in the module's file.
    """

    module: str
    name: str
    lines: tuple[int, int] = (1, 1)

    def address(self) -> str:
        """Return the web address of the source, at the tag of the installed release."""
        tag = f"v{importlib.metadata.version('kauldron')}"
        path = _file(self.module).relative_to(_file("kauldron").parents[1])
        lines = "" if not self.name else f"#L{self.lines[0]}-L{self.lines[1]}"
        return f"{UPSTREAM}/{tag}/{path.as_posix()}{lines}"


@functools.cache
def modules() -> dict[str, str]:
    """Return the modules whose names are public, as a reader writes them.

    >>> modules()["kd.train"], modules()["konfig"]
    ('kauldron.train', 'kauldron.konfig')
    """
    found = dict(_OWN)
    in_kd = [*_contents("kauldron.kd"), *_NESTED]
    for name in sorted(name for name in in_kd if not name.startswith("_")):
        place = define(f"kauldron.kd.{name}")
        if place and not place.name and place.module not in found.values():
            found[f"kd.{name}"] = place.module
    return found


@functools.cache
def public() -> dict[str, Definition]:
    """Return all public names, as a reader writes them, and where they are defined.

    Without modules, names with an underscore, and what comes from other libraries.

    >>> public()["kd.train.Trainer"].name
    'Trainer'
    >>> "kauldron.typing.Any" in public()
    False
    """
    found = {}
    for shown, module in modules().items():
        for name in sorted(_contents(module)):
            place = define(f"{module}.{name}")
            if place and place.name and not name.startswith("_"):
                found[f"{shown}.{name}"] = place
    return found


@functools.cache
def spelling() -> dict[tuple[str, str], str]:
    """Return how a reader writes the name of each public definition.

    Something public in two modules is called by the first of them.

    >>> spelling()["kauldron.train.trainer_lib", "Trainer"]
    'kd.train.Trainer'
    """
    found: dict[tuple[str, str], str] = {}
    for name, place in public().items():
        found.setdefault((place.module, place.name), name)
    return found


@functools.cache
def bare() -> dict[str, str | None]:
    """Return the public names by their last part; `None` where that could be two.

    >>> bare()["Trainer"], bare()["Float"]
    ('kd.train.Trainer', None)
    """
    found: dict[str, str | None] = {}
    for name in set(spelling().values()):
        last = name.rpartition(".")[2]
        found[last] = None if last in found else name
    return found


def as_written(dotted: str) -> str | None:
    """Return how a reader writes a name of Kauldron; `None` for any other name.

    What follows a public name, such as a method's name, is kept.

    >>> as_written("kauldron.kd.kontext.Path.get_from")
    'kontext.Path.get_from'
    >>> as_written("optax.adam") is None
    True
    """
    parts = dotted.split(".")
    for end in range(len(parts), 1, -1):
        place = define(".".join(parts[:end]))
        if place and (place.module, place.name) in spelling():
            return ".".join([spelling()[place.module, place.name], *parts[end:]])
    return None


@functools.cache
def define(dotted: str) -> Definition | None:
    """Return where a name of Kauldron is defined, through all re-exports.

    >>> define("kauldron.kd.train.Trainer").module
    'kauldron.train.trainer_lib'
    >>> define("kauldron.kd.train.Nothing")
    """
    first, *rest = dotted.split(".")
    place = Definition(module="kauldron", name="") if first == "kauldron" else None
    for name in rest:
        if place is None or place.name:  # a member of what is defined, or nothing
            return None
        place = _in_module(place.module, name)
    return place


def _in_module(module: str, name: str) -> Definition | None:
    """Return where a name in a module is defined."""
    found = _contents(module).get(name)
    if isinstance(found, Definition):
        return found
    # `kd.optim.ema_params` is a function, from a module that is called like it.
    if found and _file(found[0]) and found != (module, name):
        return _in_module(*found)
    if _file(f"{module}.{name}"):
        return Definition(module=f"{module}.{name}", name="")
    return None


@functools.cache
def _contents(module: str) -> dict[str, Definition | tuple[str, str]]:
    """Return what a module defines, and where what it imports comes from.

    A module that is no list of imports is asked for its own definitions only.
    """
    own: dict[str, Definition] = {}
    imported: dict[str, tuple[str, str]] = {}
    path = _file(module)
    for statement in _statements(ast.parse(path.read_text("utf-8")).body):
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                place = (statement.module, alias.name)
                imported[alias.asname or alias.name] = place
        if isinstance(statement, ast.Delete):
            for target in statement.targets:
                own.pop(ast.unparse(target), None)
        for name in _defined_by(statement):
            own[name] = Definition(module=module, name=name, lines=_lines(statement))
    is_list = path.name == "__init__.py" or all(name.startswith("_") for name in own)
    return imported | own if is_list else own


def _defined_by(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or not statement.value:
        return []
    targets = getattr(statement, "targets", [getattr(statement, "target", None)])
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _lines(statement: ast.stmt) -> tuple[int, int]:
    """Return the first and last line; a decorator belongs to what it decorates."""
    decorators = getattr(statement, "decorator_list", ())
    first = min([statement.lineno, *(one.lineno for one in decorators)])
    return first, statement.end_lineno


def _statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a module, also those in `with`, `if` and `try`."""
    found = []
    for statement in body:
        if isinstance(statement, ast.If):
            # What type checkers are told is not what runs: `KeyTree = Any`.
            test = ast.unparse(statement.test).replace("typing.", "")
            if test != "TYPE_CHECKING":
                found += _statements(statement.body)
            if test != "not TYPE_CHECKING":
                found += _statements(statement.orelse)
        elif isinstance(statement, ast.With | ast.Try):
            found += _statements(statement.body)
        else:
            found.append(statement)
    return found


@functools.cache
def _file(module: str) -> pathlib.Path | None:
    """Return the file of a module of Kauldron, without importing it."""
    folder = pathlib.Path(importlib.util.find_spec("kauldron").origin).parent
    path = folder.joinpath(*module.split(".")[1:])
    for file in (path / "__init__.py", path.with_suffix(".py")):
        if file.is_file():
            return file
    return None
