"""Reads `matrix.toml`: which versions are tried together, and why."""

import dataclasses
import datetime
import pathlib
import re
import tomllib

from book.cells import DOCS, cells, pages

MATRIX = pathlib.Path(__file__).with_name("matrix.toml")

# What may be asked for, by the names of the packages.
PACKAGES = (
    "kauldron",
    "jax",
    "flax",
    "optax",
    "etils",
    "orbax-checkpoint",
    "typeguard",
)
# The page that is made from what is found here; its output would change each time.
SELF = "compatibility"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Combination:
    """Versions that are tried together.

    Attributes:
      name: what the record, the page and the environment's folder call it.
      why: the reason to try it.
      asked: the version asked for, by package; what is not named may be any.
      python: the Python asked for, such as ``3.12``.
      date: nothing that was released later is taken, unless it is in `asked`.
      patch: whether `snippets.install.patch_etils` is called before the first cell.
      lock: whether it is the book's own lock.
      alone: whether what is asked for is laid over the book's own environment, and
        nothing else is changed: quick, and shows what one package does.
      git: the branch of Kauldron's repository that is tried.
      chapters: the pages that are run.
    """

    name: str
    why: str
    asked: dict[str, str]
    python: str
    date: str
    patch: bool
    lock: bool
    alone: bool
    git: str
    chapters: tuple[str, ...]


def read(path: pathlib.Path = MATRIX) -> dict[str, Combination]:
    """Return the combinations of a file, by name.

    Raises:
      SystemExit: with one line that says what is wrong with the file.
    """
    try:
        tables = tomllib.loads(path.read_text("utf-8"))
        usual = tables.pop("chapters")
        return {name: _combination(name, tables[name], usual) for name in tables}
    except (ValueError, KeyError) as error:
        raise SystemExit(f"{path.name}: {error}") from None


def _combination(name: str, table: dict, usual: list[str]) -> Combination:
    settings = {f.name for f in dataclasses.fields(Combination)} - {"name", "asked"}
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", name):
        raise ValueError(f"[{name}]: a name has small letters, digits, - and _")
    if unknown := table.keys() - settings - set(PACKAGES):
        raise ValueError(f"[{name}]: unknown {', '.join(sorted(unknown))}")
    if not table.get("why"):
        raise ValueError(f"[{name}]: say why it is tried")
    if table.get("date"):
        datetime.date.fromisoformat(table["date"])
    wanted = table.get("chapters", usual)
    known = [page for page in pages() if page != SELF and cells(page)]
    chapters = known if wanted == "all" else wanted
    if strangers := set(chapters) - set(known):
        raise ValueError(f"[{name}]: no chapter {', '.join(sorted(strangers))}")
    return Combination(
        name=name,
        why=table["why"],
        asked={package: table[package] for package in PACKAGES if package in table},
        python=table.get("python", "3.12"),
        date=table.get("date", ""),
        patch=table.get("patch", False),
        lock=table.get("lock", False),
        alone=table.get("alone", False),
        git=table.get("git", ""),
        chapters=tuple(chapters),
    )


def chosen(
    combinations: dict[str, Combination], names: str, chapters: str
) -> list[Combination]:
    """Return the combinations that a command asks for.

    Args:
      combinations: all there are.
      names: some of them, between commas; all if there is none.
      chapters: pages, between commas; those of each combination if there is none.

    Raises:
      SystemExit: for a name or a page that is not there.
    """
    wanted = [name for name in names.split(",") if name] or list(combinations)
    for name in wanted:
        if name not in combinations:
            there_are = ", ".join(combinations)
            raise SystemExit(f"compat: no combination {name!r}; there are: {there_are}")
    found = [combinations[name] for name in wanted]
    if some := tuple(page for page in chapters.split(",") if page):
        for page in some:
            if not (DOCS / f"{page}.md").exists():
                raise SystemExit(f"compat: no page {page!r}; see docs/")
        found = [dataclasses.replace(each, chapters=some) for each in found]
    return found
