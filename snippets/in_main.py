"""A config of a class that is defined where it is used, as in a notebook.

Run as a program (``python -m snippets.in_main``): only then is its class one of
``__main__``. The chapter *sweep* runs it in a process of its own.
"""

from flax import linen as nn
from kauldron import konfig


class Tiny(nn.Module):
    """A model that nobody has put into a package yet."""

    width: int = 4


def main() -> None:
    """Print how a class of ``__main__`` is named in a config."""
    with konfig.imports(lazy=True):
        from __main__ import Tiny as Lazy

    print(konfig.ConfigDict({"model": Lazy}).to_json())
    print(konfig.ConfigDict({"model": Lazy(width=8)}).to_json())
    print(konfig.resolve(Lazy) is Tiny, konfig.resolve(Lazy(width=8)).width)


if __name__ == "__main__":
    main()
