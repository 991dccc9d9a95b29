"""Measures how builds grow with the book: made-up books of several sizes.

make bench GROWTH=1     # writes snippets/recorded/growth.json
"""

import pathlib
import statistics
from collections.abc import Iterator

from book.bench_builds import Book, Memory, Turns, command, medians, turns_kept

SIZES = (10, 40, 160)

# A chapter of the books that grow; `N` is its number.
CHAPTER = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

(NAME)=
# A chapter about its number

Some words before the first cell, of which there are as many as in a short paragraph
of a real chapter; they name `jax.numpy` and show a figure.

(NAME-arrays)=
## Arrays

```{code-cell} python
import jax
import jax.numpy as jnp
import numpy as np

x = jnp.linspace(0, NUMBER, 1000)
print(jax.jit(lambda x: jnp.sin(x).sum())(x).round(3))
```

```{code-cell} python
:tags: [remove-cell]

from myst_nb import glue

glue("NAME-mean", f"{np.mean(np.arange(NUMBER)):.1f}", display=False)
```

The mean is {glue:text}`NAME-mean`.

% invisible-code-block: python
%
% assert x.shape == (1000,)

(NAME-config)=
## A config

```{code-cell} python
from kauldron import konfig

cfg = konfig.ConfigDict({"number": NUMBER})
cfg.other = cfg.ref.number
print(cfg)
```

Words between two cells, which say nothing more.

```{code-cell} python
gradient = jax.grad(lambda x: (x**2).sum())(x)
print(gradient.shape)
```

% invisible-code-block: python
%
% assert gradient.shape == x.shape

(NAME-picture)=
## A picture

```{code-cell} python
---
mystnb:
  image:
    alt: >-
      A curve that goes up and down, as often as the number of the chapter says.
---
from matplotlib.figure import Figure
from snippets.showing import Picture

figure = Figure(figsize=(4, 2))
figure.subplots().plot(np.sin(np.linspace(0, NUMBER, 50)))
Picture(figure, "a sine")
```

% invisible-code-block: python
%
% assert figure.axes

(NAME-next)=
## Next

The chapter after this one.
"""


def chapters(count: int) -> dict[str, str]:
    """Return the pages of a made-up book, by name: so many chapters and no more.

    The first of them is the book's first page, with the table of contents.

    >>> list(chapters(3))
    ['index', 'chapter-2', 'chapter-3']
    """
    names = ["index", *(f"chapter-{number}" for number in range(2, count + 1))]
    texts = [
        CHAPTER.replace("NAME", name).replace("NUMBER", str(number))
        for number, name in enumerate(names, 1)
    ]
    texts[0] += "\n".join(["", "```{toctree}", ":hidden:", "", *names[1:], "```", ""])
    return dict(zip(names, texts, strict=True))


def measure(
    folder: pathlib.Path,
    repeats: int,
    kept: Turns = (),
    sizes: tuple[int, ...] = SIZES,
) -> Iterator[dict]:
    """Build books of several sizes cold, in turns; yield what was found after each.

    Args:
      folder: for the books.
      repeats: how many turns there shall be.
      kept: those that there are already.
      sizes: numbers of pages; the last two are compared.

    Raises:
      Failed: if a build does.
    """
    books = {size: Book(folder / f"of-{size}", chapters(size)) for size in sizes}
    memory = {size: Memory() for size in sizes}
    turns = list(kept)
    of, to = sizes[-2:]
    while len(turns) < repeats:
        turn = {}
        for size, book in books.items():
            what = f"{size} pages"
            turn[what] = round(book.cold(what, memory=memory[size]), 2)
            print(f"  {turn[what]:7.1f} s  {what}", flush=True)
        turns.append(turn)
        times = [turn[f"{to} pages"] / turn[f"{of} pages"] for turn in turns]
        builders = memory[to].builder / memory[of].builder
        yield medians(turns) | {
            "compared": {
                f"{to} pages ÷ {of}, time": round(statistics.median(times), 2),
                f"{to} pages ÷ {of}, builder's memory": round(builders, 2),
            },
            "megabytes": {
                f"{size} pages": round(memory[size].builder) for size in sizes
            },
        }


def main() -> None:
    """Measure how builds grow."""

    def measure_in(folder: pathlib.Path, repeats: int) -> Iterator[dict]:
        return measure(folder, repeats, turns_kept("growth", repeats))

    command("growth", measure_in)


if __name__ == "__main__":
    main()
