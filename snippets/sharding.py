"""What lies on which device: what the chapter *sharding* shows."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

import flax.linen as nn
import jax
import numpy as np
from kauldron import kd, kontext
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from snippets import experiment
from snippets.showing import BLUE, GREY, Picture

MEGABYTE = 2**20


class Wide(nn.Module):
    """A model with two large matrices and two small vectors, for its memory only.

    Attributes:
      x: key of the inputs, float `(batch, features)`.
      width: of the hidden layer.
    """

    x: kontext.Key = "batch.x"
    width: int = 2048

    @nn.compact
    def __call__(self, x):
        """Return the predictions as `{"y": float (batch, 1)}`."""
        x = nn.relu(nn.Dense(self.width, name="enc")(x))
        x = nn.relu(nn.Dense(self.width, name="mid")(x))
        return {"y": nn.Dense(1, name="out")(x)}


def parts(array: jax.Array) -> list[tuple[int, tuple[int, ...]]]:
    """Return what each device holds of an array: its number and the part's shape.

    >>> parts(jax.device_put(np.zeros((4, 2)), jax.devices()[0]))
    [(0, (4, 2))]
    """
    return [(part.device.id, part.data.shape) for part in array.addressable_shards]


def bytes_on_one_device(tree) -> int:
    """Return how many bytes of a tree one device holds.

    Args:
      tree: arrays, or their shapes with shardings, as `Trainer.state_specs` has them.

    >>> bytes_on_one_device({"a": jax.device_put(np.zeros(4, np.float32))})
    16
    """
    return sum(
        int(np.prod(leaf.sharding.shard_shape(leaf.shape))) * leaf.dtype.itemsize
        for leaf in jax.tree.leaves(tree)
    )


def share(leaf) -> float:
    """Return the share of an array that one device holds, from 0 to 1."""
    whole = int(np.prod(leaf.shape))
    return int(np.prod(leaf.sharding.shard_shape(leaf.shape))) / whole


def placed(trees: dict[str, object]) -> Picture:
    """Draw, for each array, how much of it every device holds.

    Args:
      trees: by a name, trees of arrays or of shapes with shardings.
    """
    leaves = {
        f"{name}.{path}": leaf
        for name, tree in trees.items()
        for path, leaf in kontext.flatten_with_path(tree).items()
    }
    count = jax.device_count()
    figure = Figure(figsize=(6, 0.42 * len(leaves) + 0.9))
    axes = figure.subplots()
    for row, (path, leaf) in enumerate(leaves.items()):
        held = share(leaf)
        for device in range(count):
            axes.add_patch(
                Rectangle((device + 0.05, row + 0.1), 0.9, 0.8, fill=False, color=GREY)
            )
            axes.add_patch(
                Rectangle((device + 0.05, row + 0.1), 0.9 * held, 0.8, color=BLUE)
            )
        axes.text(-0.15, row + 0.5, f"{path} {leaf.shape}", ha="right", va="center")
        axes.text(count + 0.1, row + 0.5, _said(held), va="center")
    axes.set_xlim(-0.1, count + 0.1)
    axes.set_ylim(len(leaves), 0)
    axes.set_xticks(np.arange(count) + 0.5, [f"{n}" for n in range(count)])
    axes.set_xlabel("device")
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return Picture(
        figure,
        "\n".join(f"{path}: {_said(share(leaf))}" for path, leaf in leaves.items()),
    )


def _said(held: float) -> str:
    return "all" if held == 1 else f"1/{round(1 / held)}"


def losses(steps: int, **changes) -> list[float]:
    """Train the experiment and return the loss of each step.

    Args:
      steps: how many.
      changes: fields of `kd.train.Trainer` that should be different.
    """
    run = experiment.trainer(num_train_steps=steps, **changes)
    state, batches = run.init_state(), iter(run.train_ds)
    found = []
    for _ in range(steps):
        batch = kd.sharding.device_put(next(batches), run.sharding.batch)
        state, aux = run.trainstep.step(state, batch, return_losses=True)
        found.append(float(aux.compute().loss_values["losses/log_cosh"]))
    return found


def one_of_two(number: int, port: int) -> None:
    """Train as one of two processes; this is what `two_processes` starts twice."""
    jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=2, process_id=number)
    loss = losses(20)[-1]
    here = [device.id for device in jax.local_devices()]
    who = f"{number} of {jax.process_count()}"
    print(json.dumps({"process": who, "devices": here, "loss": loss}))


def two_processes() -> list[dict]:
    """Train in two processes with four devices each, and return what each has printed.

    They find each other on 127.0.0.1, on a port that is free. What the library that
    connects them prints is left out.

    Raises:
      RuntimeError: if one of them fails.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = "import sys; from snippets.sharding import one_of_two as go; "
    code += "go(*map(int, sys.argv[1:]))"
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    with tempfile.TemporaryDirectory() as folder:
        started = [
            subprocess.Popen(
                [sys.executable, "-c", code, str(number), str(port)],
                env=os.environ | flags,
                stdout=subprocess.PIPE,
                stderr=(pathlib.Path(folder) / f"{number}").open("wb"),
                text=True,
            )
            for number in (0, 1)
        ]
        said = []
        try:
            for number, process in enumerate(started):
                printed = process.communicate(timeout=240)[0].splitlines()
                said += [json.loads(line) for line in printed if line.startswith("{")]
                if process.returncode:
                    error = (pathlib.Path(folder) / f"{number}").read_text()
                    raise RuntimeError(error)
        finally:
            for process in started:
                process.kill()
    return said
