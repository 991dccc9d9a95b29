"""Saves, keeps, loads and moves checkpoints: what the chapter *checkpoints* shows."""

import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from unittest import mock

import flax.linen as nn
import flax.struct
import jax
import optax
import orbax.checkpoint as ocp
from etils import epath
from kauldron import kd, kontext
from matplotlib.figure import Figure

from snippets import resume
from snippets.showing import BLUE, GREY, Picture

# How many devices the other machine has, and at which checkpoint it dies.
DEVICES, DIES_AT = 4, 400

# The step from which on a run gets worse.
TURNS_AT = 60


def run(workdir: pathlib.Path, num_train_steps: int, **changes) -> kd.train.Trainer:
    """Return the run of the chapter *resume*, by default without its evaluation.

    Args:
      workdir: where checkpoints go.
      num_train_steps: the last step.
      changes: fields of `kd.train.Trainer` that should be different.
    """
    return resume.run(workdir, num_train_steps, **{"evals": {}} | changes)


def turning(workdir: pathlib.Path, num_train_steps: int) -> kd.train.Trainer:
    """Return a run that gets worse after a while, and keeps its best checkpoints.

    Its learning rate turns negative at `TURNS_AT`.
    """
    up, down = map(optax.constant_schedule, (0.01, -0.001))
    rate = optax.join_schedules([up, down], [TURNS_AT])
    return run(
        workdir,
        num_train_steps,
        optimizer=optax.adam(rate),
        evals={"test": kd.evals.Evaluator(run=kd.evals.EveryNSteps(20))},
        checkpointer=kd.ckpts.Checkpointer(
            save_interval_steps=20, max_to_keep=3, best_metric_path="test.near"
        ),
    )


@flax.struct.dataclass
class Tally(kd.ckpts.items.StandardCheckpointItem):
    """A state that costs nothing: three numbers, to be saved in a moment.

    Attributes:
      seen: int `(3,)`.
    """

    seen: jax.Array


def save_steps(workdir: pathlib.Path, last: int, **fields) -> list[int]:
    """Save a tally at each step that the checkpointer wants to save; return those.

    Args:
      workdir: an absolute path.
      last: the last step; the first is 0.
      fields: of `kd.ckpts.Checkpointer`; by default it saves at every step.
    """
    fields = {"save_interval_steps": 1} | fields
    saved = []
    with kd.ckpts.Checkpointer(workdir=workdir, **fields) as checkpoints:
        for step in range(last + 1):
            if checkpoints.should_save(step):
                checkpoints.save(Tally(seen=jax.numpy.full(3, step)), step=step)
                saved.append(step)
    return saved


def kept(workdir: pathlib.Path) -> list[int]:
    """Return the steps of which there is a finished checkpoint, by the folders' names.

    >>> kept(pathlib.Path("nowhere"))
    []
    """
    names = (path.name for path in (workdir / "checkpoints").glob("ckpt_*"))
    found = (re.fullmatch(r"ckpt_(\d+)", name) for name in names)
    return sorted(int(match[1]) for match in found if match)


def timelines(rows: Mapping[str, tuple[list[int], list[int]]]) -> Picture:
    """Draw which steps were saved, and which of those are still there.

    Args:
      rows: by what is asked of the checkpointer, the saved and the kept steps.
    """
    figure = Figure(figsize=(7, 0.45 * len(rows) + 0.9))
    axes = figure.subplots()
    for height, (saved, left) in enumerate(reversed(rows.values())):
        axes.plot(
            saved,
            [height] * len(saved),
            linestyle="none",
            marker="o",
            markerfacecolor="white",
            markeredgecolor=GREY,
            label="_saved",
        )
        axes.plot(left, [height] * len(left), linestyle="none", marker="o", color=BLUE)
    axes.set_yticks(range(len(rows)), list(reversed(rows)))
    axes.set_ylim(-0.6, len(rows) - 0.5)
    axes.set_xticks(
        range(max(step for saved, left in rows.values() for step in saved) + 1)
    )
    axes.set_xlabel("step (filled: kept; open: saved and deleted)")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
    return Picture(
        figure,
        "\n".join(f"{name}: kept {left}" for name, (saved, left) in rows.items()),
    )


def bytes_of(tree: object) -> dict[str, int]:
    """Return how many bytes of arrays each part of a state holds.

    >>> bytes_of({"a": jax.numpy.zeros(2), "b": {}})
    {'a': 8, 'b': 0}
    """
    parts = tree if isinstance(tree, Mapping) else vars(tree)
    return {
        name: sum(leaf.nbytes for leaf in jax.tree.leaves(part))
        for name, part in parts.items()
    }


def options() -> dict[str, str]:
    """Return the fields of a `kd.ckpts.Checkpointer` and their defaults, as printed."""
    defaults = {}
    for field in dataclasses.fields(kd.ckpts.Checkpointer):
        if field.name.startswith("_"):
            continue
        if field.default is not dataclasses.MISSING:
            defaults[field.name] = repr(field.default)
        elif field.default_factory is not dataclasses.MISSING:
            defaults[field.name] = f"{type(field.default_factory()).__name__}()"
        else:
            defaults[field.name] = "(to be given)"
    return defaults


@dataclasses.dataclass(frozen=True)
class Parts(kd.ckpts.items.CheckpointItem):
    """Parts of a saved state, to be read and not the rest.

    Attributes:
      wanted: the part of the tree that is read; at its leaves `jax.ShapeDtypeStruct`
        with the sharding that the arrays should have.
    """

    wanted: Mapping[str, object]

    def __kd_ocp_handlers__(self) -> ocp.CheckpointHandler:
        return ocp.PyTreeCheckpointHandler()

    def __kd_ocp_save_args__(self) -> ocp.args.CheckpointArgs:
        raise NotImplementedError("parts are only read")

    def __kd_ocp_restore_args__(self) -> ocp.args.CheckpointArgs:
        return ocp.args.PyTreeRestore(
            item=self.wanted,
            restore_args=ocp.checkpoint_utils.construct_restore_args(self.wanted),
            partial_restore=True,
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class PathLoader(kd.ckpts.InitTransform):
    """Fills parts of a new state with parts of a saved one, by their paths.

    Attributes:
      workdir: the folder of the run that saved it.
      new_to_old: paths in the new state to paths in the saved one, such as
        ``{"params.encoder": "params.enc"}``. They lead through dicts, so to parameters
        and collections. What is not named stays as it is.
      step: which checkpoint; -1 is the newest.
    """

    workdir: pathlib.Path
    new_to_old: Mapping[str, str]
    step: int = -1

    def transform(self, state: kd.train.TrainState) -> kd.train.TrainState:
        """Return the state with those parts from the checkpoint.

        Raises:
          FileNotFoundError: if there is no checkpoint.
          KeyError: if the new state has no such part.
          LookupError: if the saved one has not.
          ValueError: if a shape is another.
        """
        wanted = {}
        for new, old in self.new_to_old.items():
            part = kontext.get_by_path(state, new)
            put(wanted, old, jax.tree.map(ocp.utils.to_shape_dtype_struct, part))
        checkpoints = kd.ckpts.Checkpointer(
            workdir=self.workdir, save_interval_steps=1, create=False
        )
        found = checkpoints.restore(Parts(wanted), step=self.step)
        parts = {"params": state.params, "collections": state.collections}
        parts = jax.tree.map(lambda leaf: leaf, parts)  # a copy: the state is not ours
        for new, old in self.new_to_old.items():
            part = kontext.get_by_path(found, old)
            if not all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(part)):
                raise LookupError(f"not all of {old!r} is in the checkpoint")
            put(parts, new, part)
        return state.replace(**parts)


def put(tree: dict, path: str, value: object) -> None:
    """Put a value into nested dicts, and make those on the way that are not there.

    >>> tree = {}
    >>> put(tree, "params.enc", 1)
    >>> tree
    {'params': {'enc': 1}}
    """
    *way, last = path.split(".")
    for name in way:
        tree = tree.setdefault(name, {})
    tree[last] = value


def sharded() -> kd.sharding.ShardingStrategy:
    """Return a strategy that divides each parameter among all devices, if it can."""
    return kd.sharding.ShardingStrategy(
        params=kd.sharding.FSDPSharding(min_size_to_shard_mb=0)
    )


def elsewhere(workdir: str) -> None:
    """Go on with a run on several devices, and die as a checkpoint gets its name.

    This is what the other process runs.
    """
    folder = pathlib.Path(workdir)
    there = run(folder, 500, sharding=sharded())
    state = there.checkpointer.restore(there.state_specs)
    kernel = state.params["enc"]["kernel"]
    print(f"step {state.step}, {jax.device_count()} devices")
    print(
        f"a kernel of {kernel.shape}, {kernel.addressable_shards[0].data.shape} on each"
    )
    sys.stdout.flush()

    local = type(epath.Path(folder))
    rename = local.rename

    def rename_or_die(source: pathlib.Path, target: pathlib.Path) -> pathlib.Path:
        if pathlib.Path(target).name == f"ckpt_{DIES_AT}":
            os.kill(os.getpid(), signal.SIGKILL)
        return rename(source, target)

    with mock.patch.object(local, "rename", rename_or_die):
        run(folder, 500, sharding=sharded()).train()


def run_elsewhere(workdir: pathlib.Path) -> tuple[int, str]:
    """Run `elsewhere` in a process with several devices, until it dies.

    Returns:
      Its exit code, and what it printed.
    """
    code = (
        "import sys; from snippets.checkpoints import elsewhere; elsewhere(sys.argv[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(workdir.absolute())],
        env=os.environ
        | {"XLA_FLAGS": f"--xla_force_host_platform_device_count={DEVICES}"},
        capture_output=True,
        text=True,
    )
    if done.returncode != -signal.SIGKILL:
        raise RuntimeError(done.stderr)
    return done.returncode, done.stdout.rstrip()


class Deeper(nn.Module):
    """The experiment's model with a layer `mid` more, between `enc` and `out`.

    Attributes:
      x: key of the inputs, float `(batch, features)`.
      hidden: width of the first layer.
    """

    x: kontext.Key = "batch.x"
    hidden: int = 32

    @nn.compact
    def __call__(self, x):
        """Return the predictions as `{"y": float (batch, 1)}`."""
        x = nn.relu(nn.Dense(self.hidden, name="enc")(x))
        x = nn.relu(nn.Dense(16, name="mid")(x))
        return {"y": nn.Dense(1, name="out")(x)}
