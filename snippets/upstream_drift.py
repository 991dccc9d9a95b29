"""Lines of Kauldron's own documentation, and what runs instead: *upstream-drift*."""

import contextlib
import dataclasses
import difflib
import functools
import importlib.metadata
import io
import linecache
import pathlib
import re
import shlex
import tempfile
import textwrap
import zlib

from kauldron import kd, konfig
from typeguard import TypeCheckError

from snippets import experiment, sweep
from snippets.command_line import read

# The pages whose blocks were run, and how many blocks of Python each holds at the tag
# v1.4.4: fences counted on GitHub, cells of code in the notebook.
BLOCKS = {
    "docs/checkpoint.md": 5,
    "docs/data.md": 1,
    "docs/eval.md": 10,
    "docs/export.md": 2,
    "docs/intro.md": 6,
    "docs/konfig_philosophy.md": 16,
    "docs/metrics.md": 9,
    "docs/nnx.md": 10,
    "docs/sharding.md": 3,
    "docs/typing.md": 6,
    "kauldron/cli/README.md": 1,
    "kauldron/data/py/README.md": 3,
    "kauldron/konfig/README.md": 3,
    "kauldron/konfig/docs/demo.ipynb": 17,
    "kauldron/kontext/README.md": 12,
    "kauldron/ktyping/README.md": 28,
    "kauldron/random/README.md": 1,
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pair:
    """Code of an official page, and what to write instead.

    Attributes:
      page: the page, by its path in Kauldron's repository.
      blocks: which of its blocks of Python, counted from 1; none if it is a sentence.
      why: what is different in this release, in a sentence.
      old: the code as the page has it, or as its sentence would have one write it, cut
        down to what matters.
      new: the code that works.
      error: the error that `old` raises; `None` if it runs, and does something else.
      then: an expression that shows what came of it; `None` if that is printed.
    """

    page: str
    blocks: tuple[int, ...] = ()
    why: str
    old: str
    new: str
    error: type[Exception] | None
    then: str | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a pair.

    Attributes:
      before: the error of the old code, or what it gave.
      after: what the new code gave.
    """

    before: str
    after: str


@functools.cache
def tried(pair: Pair) -> Outcome:
    """Run both codes of a pair, each in names of its own; once in a process.

    Raises:
      AssertionError: if the old code does not fail in the way that the pair says.
        Whatever the new code raises passes through.

    >>> swap = Pair(page="docs/intro.md", why="", error=NameError, then="x",
    ...             old="x = y", new="x = 1")
    >>> tried(swap)
    Outcome(before="NameError: name 'y' is not defined", after='x is 1')
    """
    try:
        before = _given(pair, pair.old)
    except Exception as error:
        if pair.error is None or not isinstance(error, pair.error):
            raise AssertionError(f"{pair.page}: not {pair.error}") from error
        before = f"{type(error).__name__}: {_message(error)}"
    else:
        if pair.error is not None:
            raise AssertionError(f"{pair.page}: no {pair.error.__name__} was raised")
    return Outcome(before=before, after=_given(pair, pair.new))


def _given(pair: Pair, code: str) -> str:
    """Run the code of a pair; return what its expression gives, or else is printed."""
    names = {"__name__": __name__}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        _run(READY.get(pair.page, ""), names)
        _run(code, names)
        if pair.then is not None:
            return f"{pair.then} is {eval(pair.then, names)!r}"
    return out.getvalue().strip().splitlines()[-1].strip()


def _run(code: str, names: dict[str, object]) -> None:
    # What checks types asks for the source, which Python finds by the file's name.
    file = f"<official {zlib.crc32(code.encode())}>"
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    exec(compile(code, file, "exec"), names)


def _message(error: Exception) -> str:
    """Return an error's message: its first line, or of konfig's the last as well."""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    first, *others = text.strip().splitlines()
    if first == "Error resolving the config:":
        first = f"{first} … {others[-1]}"
    return re.sub(r" \(/\S+\)", "", first)


def drift(page: str) -> str:
    """Return what no longer holds on an official page, ready to be sent upstream.

    It is Markdown: for each pair where and why, the difference, and what both gave.

    Args:
      page: the page, by its path in Kauldron's repository.
    """
    parts = []
    for pair in (pair for pair in PAIRS if pair.page == page):
        outcome = tried(pair)
        lines = [
            *textwrap.wrap(f"**{_place(pair)}**: {pair.why}", 88),
            "",
            "```diff",
            *difference(pair.old, pair.new),
            "```",
            *_wrapped("before", outcome.before),
            *_wrapped("after", outcome.after),
        ]
        parts.append("\n".join(lines))
    return "\n\n\n".join(parts)


def _place(pair: Pair) -> str:
    if not pair.blocks:
        return "Text"
    word = "Block" if len(pair.blocks) == 1 else "Blocks"
    return f"{word} {', '.join(map(str, pair.blocks))}"


def _wrapped(word: str, text: str) -> list[str]:
    start = f"    {word + ':':8}"
    return textwrap.wrap(
        text, 88, initial_indent=start, subsequent_indent=" " * len(start)
    )


def difference(old: str, new: str) -> list[str]:
    """Return the lines of two codes: those to take away with ``-``, those to add ``+``.

    >>> difference("a = 1\\nb = 2", "a = 1\\nb = 3")
    [' a = 1', '-b = 2', '+b = 3']
    """
    old, new = (code.strip("\n").splitlines() for code in (old, new))
    return list(difflib.unified_diff(old, new, n=len(old), lineterm=""))[3:]


def overview() -> str:
    """Return a table of the official pages, made by running all pairs.

    In its columns are how many blocks a page has, and in how many of them something is
    to change; then its pairs: whose old code stops with an error, whose old code runs
    and does something else, and whose new code works.
    """
    rows = []
    for page, blocks in BLOCKS.items():
        pairs = [pair for pair in PAIRS if pair.page == page]
        changed = {block for pair in pairs for block in pair.blocks}
        stop = [pair for pair in pairs if pair.error is not None]
        works = [pair for pair in pairs if tried(pair).after]
        counts = len(changed), len(stop), len(pairs) - len(stop), len(works)
        rows.append((page, blocks, *counts))
    sums = [sum(column) for column in list(zip(*rows, strict=True))[1:]]
    head = ("", "blocks", "changed", "stops", "differs", "works")
    return "\n".join(
        f"{name:32}" + "".join(f"{cell:>9}" for cell in cells)
        for name, *cells in (head, *rows, ("all", *sums))
    )


def letter(page: str) -> str:
    """Return `drift` with a heading and a greeting, as an issue upstream would have.

    >>> letter("docs/export.md").splitlines()[0]
    '# docs/export.md: what to change for kauldron 1.4.4'
    """
    version = importlib.metadata.version("kauldron")
    greeting = (
        "Thank you for Kauldron! Below are lines of this page, as it stands at the tag "
        f"v{version}, that do something else than it says with the release from PyPI, "
        "and lines that work. The lines with `-` are the code as the page has it, or "
        "as its sentence would have one write it, cut down to what matters. Both ran; "
        "*before* and *after* is what came. Some names are helpers of ours: "
        "`experiment` and `small` make a small trainer where the page leaves one open, "
        "`trained` is one that has trained, `from_command_line` reads a config as the "
        "command line does, and `Digits` is a small data source."
    )
    head = f"# {page}: what to change for kauldron {version}"
    return "\n\n".join([head, textwrap.fill(greeting, 88), drift(page)]) + "\n"


def letters(folder: pathlib.Path) -> list[pathlib.Path]:
    """Write the letter of each official page that has one; return the files.

    Args:
      folder: where they go. It is made, if it is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for page in dict.fromkeys(pair.page for pair in PAIRS):
        file = folder / (page.replace("/", "-").rsplit(".", 1)[0] + ".md")
        file.write_text(letter(page), "utf-8")
        files.append(file)
    return files


@functools.cache
def trained() -> kd.train.Trainer:
    """Return a trainer that has trained for two steps, and has saved them."""
    cfg = small(tempfile.mkdtemp())
    cfg.train_metrics = {}  # the loss is enough, and compiles sooner
    trainer = konfig.resolve(cfg)
    with contextlib.redirect_stdout(io.StringIO()):
        trainer.train()
    return trainer


def small(workdir: pathlib.Path | str = "run") -> konfig.ConfigDict:
    """Return the small experiment as a config, for one step and with a checkpointer.

    >>> small("run").num_train_steps
    1
    """
    cfg = sweep.get_config()
    cfg.workdir, cfg.num_train_steps = str(workdir), 1
    with konfig.mock_modules():
        cfg.checkpointer = kd.ckpts.Checkpointer(save_interval_steps=1)
        cfg.eval_ds = kd.data.InMemoryPipeline(
            loader=experiment.evaluation_rows, batch_size=32, num_epochs=1
        )
    return cfg


def from_command_line(code: str, typed: str) -> konfig.ConfigDict:
    """Return the config that a command line makes of the code of a config file.

    Args:
      code: what stands in the file.
      typed: what is typed behind the file, such as ``--cfg.seed=3``.

    >>> code = "from kauldron import konfig"
    >>> code += "\\ndef get_config(): return konfig.ConfigDict({'seed': 0})"
    >>> from_command_line(code, "--cfg.seed=3").seed
    3
    """
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "config.py"
        file.write_text(textwrap.dedent(code), "utf-8")
        return read(f"--cfg={file}", *shlex.split(typed))


# The config file that the page about its arguments takes for granted.
WITH_ARGUMENTS = """
import dataclasses
from kauldron import konfig
@dataclasses.dataclass(kw_only=True, frozen=True)
class ConfigArgs:
    dataset_name: str = 'mnist'
    sizes: dict = dataclasses.field(default_factory=lambda: {"a": 1, "b": 2})
def get_config(args: ConfigArgs = ConfigArgs()):
    return konfig.ConfigDict({"name": args.dataset_name, "sizes": args.sizes})
"""

# The names that an official page takes for granted, as code.
READY = {
    "docs/checkpoint.md": """
import json, pathlib, tempfile
from kauldron import kd, konfig
from snippets import experiment
from snippets.upstream_drift import trained
trainer = trained()
workdir = str(trainer.workdir)
config_path = pathlib.Path(workdir) / "config.json"
""",
    "docs/data.md": """
import numpy as np
from kauldron import kd
batch = {"image": np.zeros((8, 8, 3), np.uint8)}
""",
    "docs/eval.md": """
import types
import optax
from kauldron import kd, konfig
from snippets import experiment
from snippets.upstream_drift import small, trained
trainer = experiment.trainer()
""",
    "docs/export.md": """
from kauldron import kd
from snippets import experiment
""",
    "docs/intro.md": """
from kauldron import kd, konfig
from snippets.upstream_drift import small
cfg = small()
with konfig.imports():
    import optax
    from kauldron import kd
    from snippets import experiment
""",
    "docs/konfig_philosophy.md": """
import json
from kauldron import konfig
with konfig.imports():
    import optax
    from kauldron import kd
    from snippets import experiment
""",
    "docs/metrics.md": """
import dataclasses
import flax, jax.numpy as jnp
from kauldron import kd, konfig, kontext, metrics
from kauldron.typing import Float, typechecked
from snippets.upstream_drift import small
logits, labels = jnp.eye(4), jnp.array([[0], [1], [2], [0]])
""",
    "docs/nnx.md": """
import dataclasses
import jax, jax.numpy as jnp
from flax import nnx
from kauldron import kd, konfig, kontext
import kauldron.contrib
from kauldron.contrib.modules import knnx
@dataclasses.dataclass(kw_only=True)
class MyKdNnxModule(knnx.KdNnxModule):
    def setup(self, rngs: nnx.Rngs = nnx.Rngs(0)):
        self.lin = nnx.Linear(3, 10, rngs=rngs)
    def __call__(self, image):
        return self.lin(image)
class MyModel(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 4, rngs=rngs)
    def __call__(self, x):
        return self.linear(x)
""",
    "docs/typing.md": """
import dataclasses
import numpy as np
from kauldron.typing import Float, Int, Shape, UInt8, typechecked
""",
    "kauldron/cli/README.md": """
from kauldron import kd
from snippets.upstream_drift import small
cfg = small()
""",
    "kauldron/data/py/README.md": """
import dataclasses, functools
import grain.python as grain, numpy as np
from kauldron import kd
from snippets.data import Digits
""",
    "kauldron/konfig/README.md": """
import dataclasses
from kauldron import kd, konfig
from snippets.upstream_drift import from_command_line
"""
    + f"FILE = {WITH_ARGUMENTS!r}\n",
    "kauldron/konfig/docs/demo.ipynb": """
import re
from flax import linen as nn
from kauldron import konfig
printed = re.findall(r"^    (\\w+) = ", repr(nn.Dense(64)), re.M)
""",
    "kauldron/ktyping/README.md": """
import jax.numpy as jnp
import numpy as np
import kauldron.ktyping as kt
from kauldron.ktyping import Float
""",
    "kauldron/random/README.md": """
import jax
from kauldron import kd
key = kd.random.PRNGKey(0)
key0, key1 = key.split()
""",
}

PAIRS = (
    # --- docs/checkpoint.md -----------------------------------------------------------
    Pair(
        page="docs/checkpoint.md",
        blocks=(1,),
        why="after `train()`, the same trainer refuses to restore into a new state. "
        "One that is built anew from the config does it.",
        old="""
state = trainer.checkpointer.restore(trainer.init_state(), step=-1)
""",
        new="""
trainer = konfig.resolve(trainer.raw_cfg)
state = trainer.checkpointer.restore(trainer.init_state(), step=-1)
""",
        error=ValueError,
        then="int(state.step)",
    ),
    Pair(
        page="docs/checkpoint.md",
        blocks=(2,),
        why="a plain dict resolves, but `trainer.train()` cannot write it into a new "
        "folder.",
        old="""
cfg = json.loads(config_path.read_text())
cfg["workdir"] = tempfile.mkdtemp()
trainer = kd.konfig.resolve(cfg)
trainer.writer.write_config(trainer.raw_cfg)  # as trainer.train() does
""",
        new="""
cfg = konfig.ConfigDict(json.loads(config_path.read_text()))
cfg["workdir"] = tempfile.mkdtemp()
trainer = kd.konfig.resolve(cfg)
trainer.writer.write_config(trainer.raw_cfg)  # as trainer.train() does
""",
        error=AttributeError,
        then='(trainer.workdir / "config.json").exists()',
    ),
    Pair(
        page="docs/checkpoint.md",
        blocks=(3, 4, 5),
        why="the path needs quotation marks.",
        old="loader = kd.ckpts.PartialKauldronLoader(workdir=/path/to/old/workdir/)",
        new='loader = kd.ckpts.PartialKauldronLoader(workdir="/path/to/old/workdir/")',
        error=SyntaxError,
        then="str(loader.workdir)",
    ),
    Pair(
        page="docs/checkpoint.md",
        blocks=(3, 4, 5),
        why="`PartialKauldronLoader` is in the wheel, but needs a part of Orbax that "
        "is not published (google/orbax #2210). `SimpleCheckpointLoader` loads by name "
        "what model and checkpoint both have, and renames nothing.",
        old="""
init_transform = kd.ckpts.PartialKauldronLoader(
    workdir=workdir, new_to_old={"params": "params"}
)
state = experiment.trainer(init_transform=init_transform).init_state()
""",
        new="""
init_transform = kd.ckpts.SimpleCheckpointLoader(workdir=workdir)
state = experiment.trainer(init_transform=init_transform).init_state()
""",
        error=ModuleNotFoundError,
        then="list(state.params)",
    ),
    Pair(
        page="docs/checkpoint.md",
        why="the class has another name.",
        old="loader = kd.ckpts.PartialLoader",
        new="loader = kd.ckpts.PartialKauldronLoader",
        error=AttributeError,
        then="loader.__name__",
    ),
    # --- docs/data.md -----------------------------------------------------------------
    Pair(
        page="docs/data.md",
        why="`kd.data.tf` is in the wheel, but needs a part of grain that is not "
        "published. `kd.data.Resize` does the same in a pipeline of PyGrain.",
        old='resize = kd.data.tf.Resize(key="image", size=(4, 4))',
        new='resize = kd.data.Resize(key="image", size=(4, 4))',
        error=AttributeError,
        then='resize.map(batch)["image"].shape',
    ),
    Pair(
        page="docs/data.md",
        why="of the two pipelines that take transforms, PyGrain's can be used without "
        "the unpublished part, and it runs the common transforms.",
        old="pipeline = kd.data.tf.TFDataPipeline",
        new="""
pipeline = kd.data.py.DataSource(
    data_source=[batch, batch],
    shuffle=False,
    num_epochs=1,
    batch_size=2,
    num_workers=0,
    transforms=[
        kd.data.Elements(keep=["image"]),
        kd.data.Resize(key="image", size=(4, 4)),
        kd.data.ValueRange(key="image", vrange=(0, 1)),
        kd.data.Rearrange(key="image", pattern="h w c -> c h w"),
    ],
)
""",
        error=AttributeError,
        then='next(iter(pipeline))["image"].shape',
    ),
    # --- docs/eval.md -----------------------------------------------------------------
    Pair(
        page="docs/eval.md",
        blocks=(2,),
        why="the function of a config file is called `get_config`.",
        old="""
module = types.ModuleType("config")
def config():
    return konfig.ConfigDict({"seed": 3})
module.config = config
cfg = konfig.get_config_from_module(module)
""",
        new="""
module = types.ModuleType("config")
def get_config():
    return konfig.ConfigDict({"seed": 3})
module.get_config = get_config
cfg = konfig.get_config_from_module(module)
""",
        error=AssertionError,
        then="cfg.seed",
    ),
    Pair(
        page="docs/eval.md",
        blocks=(2,),
        why="`eval_only()` holds a pipeline of `kd.data.tf`, which needs a part that "
        "is not published, so its config does not resolve. A checkpoint can be "
        "evaluated by hand.",
        old="""
with konfig.mock_modules():
    cfg = kd.train.Trainer.eval_only()
trainer = konfig.resolve(cfg)
""",
        new="""
with konfig.mock_modules():
    cfg = small(trained().workdir)
    cfg.evals = {"mine": kd.evals.Evaluator(run=kd.evals.Once(0))}
trainer = konfig.resolve(cfg)
state = trainer.checkpointer.restore(trainer.init_state())
aux = trainer.evals["mine"].evaluate(state, step=int(state.step))
""",
        error=AttributeError,
        then="list(aux.compute().loss_values)",
    ),
    Pair(
        page="docs/eval.md",
        blocks=(7,),
        why="the line is indented with a no-break space, which Python refuses when it "
        "is pasted.",
        old="""
batches = trainer.train_ds.device_put(trainer.sharding.batch)
state = trainer.init_state()
for step, batch in zip(range(2), batches):
\N{NO-BREAK SPACE} state, aux = trainer.trainstep.step(state, batch)
""",
        new="""
batches = trainer.train_ds.device_put(trainer.sharding.batch)
state = trainer.init_state()
for step, batch in zip(range(2), batches):
  state, aux = trainer.trainstep.step(state, batch)
""",
        error=SyntaxError,
        then="int(state.step)",
    ),
    Pair(
        page="docs/eval.md",
        blocks=(10,),
        why="the name is a plural.",
        old="""
part = kd.optim.partial_update(
    optimizer=optax.adam(1e-4), mask=kd.optim.select("enc")
)
""",
        new="""
part = kd.optim.partial_updates(
    optimizer=optax.adam(1e-4), mask=kd.optim.select("enc")
)
""",
        error=AttributeError,
        then="type(part).__name__",
    ),
    Pair(
        page="docs/eval.md",
        blocks=(10,),
        why="the field is called `train_losses`.",
        old='trainer = experiment.trainer(losses={"mse": kd.losses.L2()})',
        new='trainer = experiment.trainer(train_losses={"mse": kd.losses.L2()})',
        error=TypeError,
        then="list(trainer.train_losses)",
    ),
    Pair(
        page="docs/eval.md",
        why="a trainer is frozen; set the seed in the config, or replace it.",
        old="trainer.seed = 42",
        new="trainer = trainer.replace(seed=42)",
        error=dataclasses.FrozenInstanceError,
        then="trainer.seed",
    ),
    # --- docs/export.md ---------------------------------------------------------------
    Pair(
        page="docs/export.md",
        why="by default nothing is exported; the exporter has to be asked for.",
        old="trainer = experiment.trainer()",
        new="trainer = experiment.trainer(exporter=kd.export.JaxModelExporter())",
        error=None,
        then="type(trainer.exporter).__name__",
    ),
    # --- docs/intro.md ----------------------------------------------------------------
    Pair(
        page="docs/intro.md",
        blocks=(2,),
        why="`warmup_steps` has no default.",
        old="""
cfg.num_train_steps = 10_000
cfg.schedules["learning_rate"] = optax.warmup_cosine_decay_schedule(
    init_value=0.0,
    peak_value=0.001,
    decay_steps=cfg.ref.num_train_steps,
)
rate = konfig.resolve(cfg).schedules["learning_rate"]
""",
        new="""
cfg.num_train_steps = 10_000
cfg.schedules["learning_rate"] = optax.warmup_cosine_decay_schedule(
    init_value=0.0,
    peak_value=0.001,
    warmup_steps=100,
    decay_steps=cfg.ref.num_train_steps,
)
rate = konfig.resolve(cfg).schedules["learning_rate"]
""",
        error=TypeError,
        then="[f'{rate(step):.4f}' for step in (0, 50, 100)]",
    ),
    Pair(
        page="docs/intro.md",
        blocks=(3,),
        why="the field is called `train_losses`, and is a dict.",
        old="""
cfg.train_loss = kd.losses.L2(preds="preds.y", targets="batch.y")
trainer = konfig.resolve(cfg)
""",
        new="""
cfg.train_losses = {"l2": kd.losses.L2(preds="preds.y", targets="batch.y")}
trainer = konfig.resolve(cfg)
""",
        error=TypeError,
        then="list(trainer.train_losses)",
    ),
    Pair(
        page="docs/intro.md",
        blocks=(6,),
        why="a trainer needs data, a model and an optimizer.",
        old="""
cfg = kd.train.Trainer()
cfg.workdir = "runs/first"
trainer = konfig.resolve(cfg)
""",
        new="""
cfg = kd.train.Trainer()
cfg.workdir = "runs/first"
cfg.train_ds = experiment.training_data()
cfg.model = experiment.MLP()
cfg.optimizer = optax.adam(1e-2)
trainer = konfig.resolve(cfg)
""",
        error=TypeError,
        then="type(trainer).__name__",
    ),
    # --- docs/konfig_philosophy.md ----------------------------------------------------
    Pair(
        page="docs/konfig_philosophy.md",
        blocks=(6,),
        why="a positional argument is found by its number as a string. A number as a "
        "number is handed on as a keyword, which Python refuses.",
        old="""
cfg = {
    "__qualname__": "optax:chain",
    0: {"__qualname__": "optax:scale_by_adadelta"},
    1: {"__qualname__": "optax:scale", "step_size": 0.1},
}
optimizer = konfig.resolve(cfg)
""",
        new="""
cfg = {
    "__qualname__": "optax:chain",
    "0": {"__qualname__": "optax:scale_by_adadelta"},
    "1": {"__qualname__": "optax:scale", "step_size": 0.1},
}
optimizer = konfig.resolve(cfg)
""",
        error=TypeError,
        then="type(optimizer).__name__",
    ),
    Pair(
        page="docs/konfig_philosophy.md",
        why="`to_json()` returns a string.",
        old="""
cfg = optax.adam(learning_rate=1e-4)
saved = cfg.to_json()
""",
        new="""
cfg = optax.adam(learning_rate=1e-4)
saved = json.loads(cfg.to_json())
""",
        error=None,
        then='saved == {"__qualname__": "optax:adam", "learning_rate": 1e-4}',
    ),
    Pair(
        page="docs/konfig_philosophy.md",
        why="the name is a plural; `import` alone is a keyword of Python.",
        old="""
with konfig.import():
    import optax
""",
        new="""
with konfig.imports():
    import optax
""",
        error=SyntaxError,
        then="type(optax.adam(1e-4)).__name__",
    ),
    Pair(
        page="docs/konfig_philosophy.md",
        blocks=(13, 14),
        why="`kd.data.tf` is in the wheel, but needs a part of grain that is not "
        "published. `kd.data.py` has the same source.",
        old="""
cfg = kd.data.tf.Tfds(name="mnist", split="train", shuffle=True)
ds = konfig.resolve(cfg)
""",
        new="""
cfg = kd.data.py.Tfds(name="mnist", split="train", shuffle=True)
ds = konfig.resolve(cfg)
""",
        error=AttributeError,
        then="(ds.name, ds.split)",
    ),
    Pair(
        page="docs/konfig_philosophy.md",
        blocks=(16,),
        why="`kxm` starts jobs within Google; it is in the wheel, but needs packages "
        "that are not published. What the example is about, a call whose fields can be "
        "changed, can be shown with the trainer.",
        old="""
from kauldron import kxm
xp = kxm.Experiment(name="My experiment", jobs={})
""",
        new="""
cfg = kd.train.Trainer(seed=1)
cfg.seed = 2
""",
        error=ImportError,
        then="cfg.seed",
    ),
    # --- docs/metrics.md --------------------------------------------------------------
    Pair(
        page="docs/metrics.md",
        blocks=(1,),
        why="the keys have other names.",
        old='area = kd.metrics.RocAuc(preds="preds.logits", targets="batch.label")',
        new='area = kd.metrics.RocAuc(logits="preds.logits", labels="batch.label")',
        error=TypeError,
        then="type(area).__name__",
    ),
    Pair(
        page="docs/metrics.md",
        blocks=(1,),
        why="the field is called `train_metrics`.",
        old="""
with konfig.mock_modules():
    cfg = small()
    cfg.metrics = {"norm": kd.metrics.Norm(tensor="preds.y")}
trainer = konfig.resolve(cfg)
""",
        new="""
with konfig.mock_modules():
    cfg = small()
    cfg.train_metrics = {"norm": kd.metrics.Norm(tensor="preds.y")}
trainer = konfig.resolve(cfg)
""",
        error=TypeError,
        then="list(trainer.train_metrics)",
    ),
    Pair(
        page="docs/metrics.md",
        blocks=(3,),
        why="one of the two keys has to be given, also where the arrays are passed by "
        "hand.",
        old="metric = metrics.Accuracy()",
        new='metric = metrics.Accuracy(logits="preds.logits", labels="batch.label")',
        error=ValueError,
        then="float(metric(logits=logits[:3], labels=labels[:3]))",
    ),
    Pair(
        page="docs/metrics.md",
        blocks=(7,),
        why="a state is handed through JAX, which has to be told of each class. The "
        "decorator does that; the parent's does not count for a class made from it.",
        old="""
class TopOne(kd.metrics.Metric):
    class State(kd.metrics.AverageState):
        pass
""",
        new="""
class TopOne(kd.metrics.Metric):
    @flax.struct.dataclass
    class State(kd.metrics.AverageState):
        pass
""",
        error=TypeError,
        then="TopOne.State.__name__",
    ),
    Pair(
        page="docs/metrics.md",
        blocks=(7,),
        why="`get_state` returns a state, and no array.",
        old="""
class TopOne(kd.metrics.Metric):
    @flax.struct.dataclass
    class State(kd.metrics.AverageState):
        pass

    @typechecked
    def get_state(self, logits: Float["*b n"], labels: Float["*b"]) -> Float["*b"]:
        return self.State.from_values(values=logits.argmax(-1) == labels)

metric = TopOne()
state = metric.get_state(logits=logits, labels=labels[:, 0] * 1.0)
""",
        new="""
class TopOne(kd.metrics.Metric):
    @flax.struct.dataclass
    class State(kd.metrics.AverageState):
        pass

    @typechecked
    def get_state(self, logits: Float["*b n"], labels: Float["*b"]) -> State:
        return self.State.from_values(values=logits.argmax(-1) == labels)

metric = TopOne()
state = metric.get_state(logits=logits, labels=labels[:, 0] * 1.0)
""",
        error=TypeCheckError,
        then="float(state.compute())",
    ),
    # --- docs/nnx.md ------------------------------------------------------------------
    Pair(
        page="docs/nnx.md",
        blocks=(1,),
        why="`knnx` is in `kauldron.contrib.modules`, which has to be imported.",
        old="""
@dataclasses.dataclass(kw_only=True)
class MyKdNnxModule(kd.contrib.knnx.KdNnxModule):
    image: kontext.Key = "batch.image"

    def setup(self, rngs: nnx.Rngs = nnx.Rngs(0)):
        self.lin = nnx.Linear(3, 10, rngs=rngs)
""",
        new="""
from kauldron.contrib.modules import knnx

@dataclasses.dataclass(kw_only=True)
class MyKdNnxModule(knnx.KdNnxModule):
    image: kontext.Key = "batch.image"

    def setup(self, rngs: nnx.Rngs = nnx.Rngs(0)):
        self.lin = nnx.Linear(3, 10, rngs=rngs)
""",
        error=AttributeError,
        then="MyKdNnxModule().image",
    ),
    Pair(
        page="docs/nnx.md",
        blocks=(2, 3),
        why="the class of the block above is called `MyKdNnxModule`.",
        old="mod = MyModule()",
        new="mod = MyKdNnxModule()",
        error=NameError,
        then="type(mod).__name__",
    ),
    Pair(
        page="docs/nnx.md",
        blocks=(2, 3),
        why="a shape is one argument.",
        old="image = jnp.ones(1, 32, 32, 3)",
        new="image = jnp.ones((1, 32, 32, 3))",
        error=TypeError,
        then="image.shape",
    ),
    Pair(
        page="docs/nnx.md",
        blocks=(3,),
        why="`apply` wants the image, too.",
        old="""
mod = MyKdNnxModule()
vars = mod.init({"params": jax.random.key(0)}, jnp.ones((1, 32, 32, 3)))
out = mod.apply(vars, rngs={})
""",
        new="""
mod = MyKdNnxModule()
vars = mod.init({"params": jax.random.key(0)}, jnp.ones((1, 32, 32, 3)))
out = mod.apply(vars, jnp.ones((1, 32, 32, 3)), rngs={})
""",
        error=TypeError,
        then="out.shape",
    ),
    Pair(
        page="docs/nnx.md",
        blocks=(5,),
        why="within `konfig.imports()` modules are imported, and no functions.",
        old="""
with konfig.imports():
    from functools import partial
    from snippets import experiment

cfg = partial(experiment.MLP, hidden=4)
""",
        new="""
with konfig.imports():
    import functools
    from snippets import experiment

cfg = functools.partial(experiment.MLP, hidden=4)
""",
        error=ModuleNotFoundError,
        then="konfig.resolve(cfg)().hidden",
    ),
    Pair(
        page="docs/nnx.md",
        blocks=(6,),
        why="`knnx` is in `kauldron.contrib.modules`, which has to be imported.",
        old="from kauldron.contrib import knnx",
        new="from kauldron.contrib.modules import knnx",
        error=ImportError,
        then="knnx.KdNnxModule.__name__",
    ),
    Pair(
        page="docs/nnx.md",
        blocks=(8,),
        why="the function is in `kauldron.contrib.modules`, which has to be imported.",
        old="model = kd.contrib.nn.linen_from_nnx(MyModel)",
        new="""
import kauldron.contrib.modules
model = kd.contrib.modules.linen_from_nnx(MyModel)
""",
        error=AttributeError,
        then="list(model.init(jax.random.key(0), jnp.ones((1, 3)))['params'])",
    ),
    # --- docs/typing.md ---------------------------------------------------------------
    Pair(
        page="docs/typing.md",
        blocks=(2,),
        why="the annotation takes the axes alone.",
        old="""
from kauldron.typing import Array

def remove_last(x: Float[Array, "dim"]) -> Float[Array, "dim-1"]:
    return x[:-1]
""",
        new="""
@typechecked
def remove_last(x: Float["dim"]) -> Float["dim-1"]:
    return x[:-1]
""",
        error=AttributeError,
        then="remove_last(np.ones(3)).shape",
    ),
    Pair(
        page="docs/typing.md",
        blocks=(5,),
        why="the error comes only after a call to `enable_kd_type_checking()` of "
        "`kauldron.typing`, which the page does not name: without it, the wrong shape "
        "passes. `kauldron.ktyping` needs no such call, but a decorator on the class.",
        old="""
@dataclasses.dataclass
class Batch:
    image: UInt8["b h w c"]
    label: Int["b"]

@typechecked
def get_mock_data() -> Batch:
    image = np.zeros((8, 4, 4, 3), np.uint8)
    return Batch(image=image, label=np.zeros((7,), np.int32))

try:
    says = get_mock_data() and "nothing"
except Exception as error:
    says = type(error).__name__
""",
        new="""
from kauldron.ktyping import Int, UInt8, typechecked

@typechecked
@dataclasses.dataclass
class Batch:
    image: UInt8["b h w c"]
    label: Int["b"]

@typechecked
def get_mock_data() -> Batch:
    image = np.zeros((8, 4, 4, 3), np.uint8)
    return Batch(image=image, label=np.zeros((7,), np.int32))

try:
    says = get_mock_data() and "nothing"
except Exception as error:
    says = type(error).__name__
""",
        error=None,
        then="says",
    ),
    Pair(
        page="docs/typing.md",
        why="`prod(*batch)` is not understood; name the axes.",
        old="""
@typechecked
def flat(x: Float["*batch c"]) -> Float["prod(*batch) c"]:
    return x.reshape(-1, x.shape[-1])
shape = flat(np.ones((2, 3, 4))).shape
""",
        new="""
@typechecked
def flat(x: Float["a b c"]) -> Float["a*b c"]:
    return x.reshape(-1, x.shape[-1])
shape = flat(np.ones((2, 3, 4))).shape
""",
        error=TypeCheckError,
        then="shape",
    ),
    # --- kauldron/cli/README.md -------------------------------------------------------
    Pair(
        page="kauldron/cli/README.md",
        blocks=(1,),
        why="the config is taken by its keyword only.",
        old="command = kd.cli.data.ElementSpec(cfg)",
        new="command = kd.cli.data.ElementSpec(cfg=cfg)",
        error=TypeError,
        then="command.ds_path",
    ),
    Pair(
        page="kauldron/cli/README.md",
        blocks=(1,),
        why="a command has no method `execute`: the object itself is called.",
        old="kd.cli.data.ElementSpec(cfg=cfg).execute()",
        new="kd.cli.data.ElementSpec(cfg=cfg)()",
        error=AttributeError,
        then=None,
    ),
    # --- kauldron/data/py/README.md ---------------------------------------------------
    Pair(
        page="kauldron/data/py/README.md",
        blocks=(1, 2),
        why="`shuffle` has no default, so it has to be given.",
        old='ds = kd.data.py.Tfds(name="mnist", split="train", batch_size=32)',
        new="""
ds = kd.data.py.Tfds(name="mnist", split="train", batch_size=32, shuffle=True)
""",
        error=TypeError,
        then="(ds.name, ds.batch_size)",
    ),
    Pair(
        page="kauldron/data/py/README.md",
        blocks=(2,),
        why="the size is one argument.",
        old='resize = kd.data.py.Resize(key="image", height=32, width=32)',
        new='resize = kd.data.py.Resize(key="image", size=(32, 32))',
        error=TypeError,
        then="resize.size",
    ),
    Pair(
        page="kauldron/data/py/README.md",
        blocks=(2,),
        why="`RandomCrop` needs a `key`: the field to crop.",
        old="crop = kd.data.py.RandomCrop(shape=(15, 15, None))",
        new='crop = kd.data.py.RandomCrop(key="image", shape=(15, 15, None))',
        error=TypeError,
        then="crop.shape",
    ),
    Pair(
        page="kauldron/data/py/README.md",
        blocks=(3,),
        why="without the decorator, the new fields are no arguments.",
        old="""
class MyDigits(kd.data.py.DataSourceBase):
    split: str

    @functools.cached_property
    def data_source(self):
        return Digits(self.split)

ds = MyDigits(split="test", shuffle=False)
""",
        new="""
@dataclasses.dataclass(frozen=True, kw_only=True)
class MyDigits(kd.data.py.DataSourceBase):
    split: str

    @functools.cached_property
    def data_source(self):
        return Digits(self.split)

ds = MyDigits(split="test", shuffle=False)
""",
        error=TypeError,
        then="ds.split",
    ),
    # --- kauldron/konfig/README.md ----------------------------------------------------
    Pair(
        page="kauldron/konfig/README.md",
        blocks=(1,),
        why="without a type, `model_name` is no field, and no argument.",
        old="""
@dataclasses.dataclass(kw_only=True, frozen=True)
class ConfigArgs:
    dataset_name: str = "mnist"
    model_name = "vit"

args = ConfigArgs(model_name="mlp")
""",
        new="""
@dataclasses.dataclass(kw_only=True, frozen=True)
class ConfigArgs:
    dataset_name: str = "mnist"
    model_name: str = "vit"

args = ConfigArgs(model_name="mlp")
""",
        error=TypeError,
        then="args.model_name",
    ),
    Pair(
        page="kauldron/konfig/README.md",
        blocks=(1,),
        why="the function has to return the config.",
        old="""
def get_config():
    cfg = konfig.ConfigDict({"seed": 0})
""",
        new="""
def get_config():
    cfg = konfig.ConfigDict({"seed": 0})
    return cfg
""",
        error=None,
        then="type(get_config()).__name__",
    ),
    Pair(
        page="kauldron/konfig/README.md",
        why="with spaces around `=`, the value is silently another one.",
        old='cfg = from_command_line(FILE, "--cfg.__args__.dataset_name = imagenet")',
        new='cfg = from_command_line(FILE, "--cfg.__args__.dataset_name=imagenet")',
        error=None,
        then="cfg.name",
    ),
    Pair(
        page="kauldron/konfig/README.md",
        why="overriding a part of an argument is not refused, and the other parts are "
        "lost. The same part of the config can be overridden.",
        old='cfg = from_command_line(FILE, "--cfg.__args__.sizes.a=3")',
        new='cfg = from_command_line(FILE, "--cfg.sizes.a=3")',
        error=None,
        then="dict(cfg.sizes)",
    ),
    # --- kauldron/konfig/docs/demo.ipynb ----------------------------------------------
    Pair(
        page="kauldron/konfig/docs/demo.ipynb",
        blocks=(1,),
        why="the published etils has no `adhoc`; an import of its own will do.",
        old="""
from etils.lazy_imports import *

with ecolab.adhoc():
    from kauldron import konfig
""",
        new="""
from etils.lazy_imports import *

from kauldron import konfig
""",
        error=AttributeError,
        then="konfig.__name__",
    ),
    Pair(
        page="kauldron/konfig/docs/demo.ipynb",
        why="the name is a plural.",
        old="register = konfig.register_alias",
        new="register = konfig.register_aliases",
        error=AttributeError,
        then="register.__name__",
    ),
    Pair(
        page="kauldron/konfig/docs/demo.ipynb",
        blocks=(7,),
        why="Flax has added a field to `Dense`, so the stored output lacks a line.",
        old="""
stored = ["features", "use_bias", "dtype", "param_dtype", "precision"]
stored += ["kernel_init", "bias_init"]
stored += ["dot_general", "dot_general_cls"]
""",
        new="""
stored = ["features", "use_bias", "dtype", "param_dtype", "precision"]
stored += ["kernel_init", "bias_init", "promote_dtype"]
stored += ["dot_general", "dot_general_cls"]
""",
        error=None,
        then="printed == stored",
    ),
    # --- kauldron/ktyping/README.md ---------------------------------------------------
    Pair(
        page="kauldron/ktyping/README.md",
        blocks=(1,),
        why="`Bool` has to be imported, too.",
        old="""
from kauldron.ktyping import Float

@kt.typechecked
def masked(x: Float["*b n"], mask: Bool["*b n"]) -> Float["*b n"]:
    return x * mask
""",
        new="""
from kauldron.ktyping import Bool, Float

@kt.typechecked
def masked(x: Float["*b n"], mask: Bool["*b n"]) -> Float["*b n"]:
    return x * mask
""",
        error=NameError,
        then="masked(np.ones(3), np.ones(3, bool)).shape",
    ),
    Pair(
        page="kauldron/ktyping/README.md",
        blocks=(3,),
        why="the dtype is called as in NumPy.",
        old="""
from kauldron.ktyping import dtypes
either = dtypes.float32 | dtypes.bool
""",
        new="""
from kauldron.ktyping import dtypes
either = dtypes.float32 | dtypes.bool_
""",
        error=AttributeError,
        then="str(either)",
    ),
    Pair(
        page="kauldron/ktyping/README.md",
        blocks=(18,),
        why="an axis can be set, and not deleted.",
        old="""
@kt.typechecked
def demo(x: Float["*b h w c"]):
    kt.dim["n"] = 128
    del kt.dim["h"]
    return kt.shape("*b n")

shape = demo(np.ones((16, 8, 32, 32, 3)))
""",
        new="""
@kt.typechecked
def demo(x: Float["*b h w c"]):
    kt.dim["n"] = 128
    return kt.shape("*b n")

shape = demo(np.ones((16, 8, 32, 32, 3)))
""",
        error=TypeError,
        then="shape",
    ),
    Pair(
        page="kauldron/ktyping/README.md",
        blocks=(27,),
        why="`Integer` is used, and `Int` imported.",
        old="""
from jaxtyping import Array, Float, Int, jaxtyped

def fn(x: Float[Array, "b d"], y: Integer[Array, "b"]) -> Float[Array, "b d"]:
    return x
""",
        new="""
from jaxtyping import Array, Float, Integer, jaxtyped

def fn(x: Float[Array, "b d"], y: Integer[Array, "b"]) -> Float[Array, "b d"]:
    return x
""",
        error=NameError,
        then="fn.__name__",
    ),
    Pair(
        page="kauldron/ktyping/README.md",
        why="the two names that stop working when checks are off are `kt.dim` and "
        "`kt.shape` now.",
        old="names = [kt.dims, kt.get_shape]",
        new="names = [kt.dim, kt.shape]",
        error=AttributeError,
        then="names[1].__name__",
    ),
    Pair(
        page="kauldron/ktyping/README.md",
        why="the page lists four names that `ktyping` lacks. One of them, `Axes`, is "
        "there.",
        old='missing = ["Initializer", "Schedule", "Axes", "AxisName"]',
        new='missing = ["Initializer", "Schedule", "AxisName"]',
        error=None,
        then="[name for name in missing if hasattr(kt, name)]",
    ),
    # --- kauldron/random/README.md ----------------------------------------------------
    Pair(
        page="kauldron/random/README.md",
        blocks=(1,),
        why="the two lines are equivalent if both use the same key.",
        old="""
x = key0.uniform()
y = jax.random.uniform(key)
""",
        new="""
x = key0.uniform()
y = jax.random.uniform(key0)
""",
        error=None,
        then='f"{x:.3f}, {y:.3f}"',
    ),
)
