"""What has been put together: what the chapter *inspect* shows."""

import contextlib
import dataclasses
import html
import re
from collections.abc import Callable, Iterator, Mapping
from unittest import mock

import flax.linen as nn
import graphviz
import mediapy
import numpy as np
import pandas as pd
from etils import ecolab, epy
from kauldron import kd, kontext
from matplotlib.figure import Figure
from matplotlib.text import Text

from snippets import experiment
from snippets.showing import BLUE, GREY, ORANGE, Picture


class Block(nn.Module):
    """Two layers, `a` and `b`, with a ReLU between them."""

    @nn.compact
    def __call__(self, x):
        """Return float `(batch, 8)`."""
        return nn.Dense(8, name="b")(nn.relu(nn.Dense(16, name="a")(x)))


class Nested(nn.Module):
    """A block `enc`, a layer `mix` that is used twice, and an output layer `out`.

    Attributes:
      x: key of the inputs, float `(batch, features)`.
    """

    x: kontext.Key = "batch.x"

    @nn.compact
    def __call__(self, x):
        """Return the predictions as `{"y": float (batch, 1)}`."""
        x = Block(name="enc")(x)
        mix = nn.Dense(8, name="mix")
        return {"y": nn.Dense(1, name="out")(mix(mix(x)))}


def overview(run: kd.train.Trainer) -> pd.DataFrame:
    """Return `kd.inspect.get_colab_model_overview` of a trainer's model."""
    return kd.inspect.get_colab_model_overview(
        model=run.model,
        train_ds=run.train_ds,
        ds_sharding=run.sharding.batch,
        rngs=run.rng_streams.init_rngs(),
    )


def plain(markup: object) -> str:
    """Return the words of a piece of HTML, as they stand in one line.

    >>> plain('<b>bias</b>: f32[8]<br><b>kernel</b>: f32[16&nbsp;8]')
    'bias: f32[8], kernel: f32[16 8]'
    """
    text = str(markup).replace("<br>", ", ")
    text = re.sub(r"""<(?:"[^"]*"|[^">])*>""", "", text)  # a title may hold a bracket
    return html.unescape(text).replace("\xa0", " ")


def words(frame: pd.DataFrame, columns: list[str]) -> str:
    """Return some columns of a table that is meant for HTML, as text.

    >>> print(words(pd.DataFrame({"Path": ["<b>enc</b>"], "n": [3]}), ["Path", "n"]))
    Path n
     enc 3
    """
    return frame[columns].map(plain).to_string(index=False)


@dataclasses.dataclass(frozen=True)
class Displayed:
    """Something that a notebook would have shown.

    Attributes:
      under: the title of the block that unfolds to show it, if there is one.
      what: the object.
    """

    under: str
    what: object


def displayed(call: Callable[[], object]) -> list[Displayed]:
    """Return what a function would display in a notebook, and display nothing.

    Args:
      call: calls a function of `kd.inspect`, which shows HTML or widgets.
    """
    seen, titles = [], [""]

    def note(what: object, *options: object, **more: object) -> None:
        seen.append(Displayed(titles[-1], what))

    @contextlib.contextmanager
    def block(title: str) -> Iterator[None]:
        titles.append(title)
        yield
        titles.pop()

    with contextlib.ExitStack() as stack:
        for owner, name, instead in (
            (epy, "is_notebook", lambda: True),
            (ecolab, "disp", note),
            (ecolab, "json", note),
            (ecolab, "collapse", block),
            (mediapy, "show_images", note),
        ):
            stack.enter_context(mock.patch.object(owner, name, instead))
        call()
    return seen


def different(old: object, new: object) -> dict[str, tuple[object, object]]:
    """Return the leaves in which two trees differ, by path.

    >>> different({"a": 1, "b": [2, 3]}, {"a": 1, "b": [2, 4]})
    {'b[1]': (3, 4)}
    """
    before, after = (kontext.flatten_with_path(tree) for tree in (old, new))
    paths = sorted(before.keys() | after.keys())
    pairs = {path: (before.get(path), after.get(path)) for path in paths}
    return {path: pair for path, pair in pairs.items() if pair[0] != pair[1]}


def edges(graph: graphviz.Digraph) -> list[tuple[str, str]]:
    """Return the arrows of a graph, as pairs of names.

    >>> graph = graphviz.Digraph()
    >>> graph.edge("batch:x", "model:x")
    >>> edges(graph)
    [('batch:x', 'model:x')]
    """
    found = re.findall(r"^\s*(\S+) -> (\S+)$", graph.source, re.MULTILINE)
    return [(left.replace('"', ""), right) for left, right in found]


def wiring(run: kd.train.Trainer) -> Picture:
    """Draw the graph of `kd.inspect.get_connection_graph`: keys, and who asks for them.

    From left to right: the batch, the model, what the model brings, and losses and
    metrics.
    """
    graph = kd.inspect.get_connection_graph(run)
    arrows = edges(graph)
    ports = dict(re.findall(r'port="([^"]+)">([^<]+)<', graph.source))
    columns = [[], ["model"], [], []]
    for left, right in arrows:
        part = right.partition(":")[0]
        new = []
        if left != "model":
            new.append((0 if left.startswith("batch") else 2, left))
        if part not in ("model", "preds"):
            new.append((3, part))
        for x, name in new:
            if name not in columns[x]:
                columns[x].append(name)
    figure = Figure(figsize=(7, 2.4))
    axes = figure.subplots()
    boxes = {}
    for x, column in enumerate(columns):
        for y, name in zip(np.linspace(0, 1, len(column)), column, strict=True):
            group, _, port = name.partition(":")
            boxes[name] = axes.text(
                x,
                y,
                f"{group}.{ports[port]}" if port else group,
                ha="center",
                va="center",
                bbox={"boxstyle": "round", "facecolor": "white", "edgecolor": GREY},
            )
    for left, right in arrows:
        for start, end in _ends(left, right, boxes):
            axes.annotate(
                "",
                xy=end.get_position(),
                xytext=start.get_position(),
                arrowprops={
                    "arrowstyle": "->",
                    "color": ORANGE if "model" in (left, right[:5]) else BLUE,
                    "patchA": start.get_bbox_patch(),
                    "patchB": end.get_bbox_patch(),
                    "shrinkA": 0,
                    "shrinkB": 0,
                },
            )
    axes.set(xlim=(-0.5, 3.5), ylim=(1.2, -0.2))
    axes.set_axis_off()
    return Picture(figure, "\n".join(f"{left} → {right}" for left, right in arrows))


def _ends(left: str, right: str, boxes: Mapping[str, Text]) -> Iterator[tuple]:
    """Yield the boxes of an arrow's ends; the model's goes to all that it makes."""
    if right == "preds":
        made = [name for name in boxes if name.startswith(("preds", "interms"))]
    else:
        made = [right.partition(":")[0]]
    for name in made:
        yield boxes[left], boxes[name]


def points(chart) -> dict[str, dict[int, float]]:
    """Return the numbers that an Altair chart holds, as ``{schedule: {step: value}}``.

    Args:
      chart: what `kd.inspect.plot_schedules` returns.
    """
    (rows,) = chart.to_dict()["datasets"].values()
    found = {}
    for row in rows:
        found.setdefault(row["Schedule"], {})[row["Step"]] = row["Value"]
    return found


def schedules(by_name: Mapping[str, Mapping[int, float]]) -> Picture:
    """Draw schedules over the steps.

    Args:
      by_name: what `points` returned.
    """
    figure = Figure(figsize=(7, 2.6))
    axes = figure.subplots()
    for (name, values), colour in zip(by_name.items(), (BLUE, ORANGE), strict=False):
        axes.plot(list(values), list(values.values()), color=colour, label=name)
    axes.set_xlabel("step")
    axes.set_ylabel("value")
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return Picture(
        figure,
        "\n".join(
            f"{name}: from {values[min(values)]:.4f} up to {max(values.values()):.4f}, "
            f"at step {max(values)} {values[max(values)]:.4f}"
            for name, values in by_name.items()
        ),
    )


def donated(run: kd.train.Trainer) -> tuple[int, int]:
    """Return how many arguments the compiled step takes, and how many it overwrites."""
    text = kd.inspect.lower_trainstep(run).as_text()
    head = next(line for line in text.splitlines() if "@main(" in line)
    return len(re.findall(r"%arg\d+:", head)), head.count("tf.aliasing_output")


def flops(hidden: int) -> float:
    """Return what XLA counts in one step of the experiment: additions and products.

    Args:
      hidden: the width of its inner layer.
    """
    run = experiment.trainer(model=experiment.MLP(hidden=hidden))
    return kd.inspect.lower_trainstep(run).cost_analysis()["flops"]
