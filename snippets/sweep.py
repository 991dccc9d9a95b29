"""The experiment as a config, and variants that differ by a line: chapter *sweep*."""

import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
from unittest import mock

from absl import flags
from kauldron import konfig, kontext
from matplotlib.figure import Figure

from snippets.showing import BLUE, GREY, Picture

with konfig.imports():
    import optax
    from kauldron import kd

    from snippets import experiment


def get_config() -> konfig.ConfigDict:
    """Return the experiment as a config; the command line wants this name.

    >>> cfg = get_config()
    >>> cfg.model.hidden, cfg.optimizer.learning_rate
    (32, 0.01)
    """
    cfg = kd.train.Trainer()
    cfg.seed = 0
    cfg.train_ds = kd.data.InMemoryPipeline(
        loader=experiment.training_rows, batch_size=32, shuffle=True, seed=0
    )
    cfg.model = experiment.MLP(x="batch.x", hidden=32)
    cfg.optimizer = optax.adam(learning_rate=0.01)
    cfg.train_losses = {
        "log_cosh": experiment.LogCosh(preds="preds.y", targets="batch.y")
    }
    cfg.train_metrics = {
        "near": experiment.WithinTolerance(preds="preds.y", targets="batch.y")
    }
    # Two hundred steps: the loop runs from step 0 to this one, and logs it.
    cfg.num_train_steps = 199
    cfg.log_metrics_every = cfg.ref.num_train_steps
    cfg.profiler = None  # it would go on after so short a run
    return cfg


# Each variant is one edit: a path, and what stands there instead.
VARIANTS = {
    "baseline": None,
    "hidden 4": ("model.hidden", 4),
    "hidden 128": ("model.hidden", 128),
    "learning rate 0.1": ("optimizer.learning_rate", 0.1),
    "SGD 0.05": ("optimizer", optax.sgd(learning_rate=0.05)),
}


def variant(name: str) -> konfig.ConfigDict:
    """Return the config of a variant.

    >>> variant("hidden 4").model.hidden
    4
    """
    cfg = get_config()
    if VARIANTS[name] is not None:
        path, value = VARIANTS[name]
        kontext.set_by_path(cfg, path, value)
    return cfg


def final_loss(cfg: konfig.ConfigDict) -> float:
    """Train what a config describes, in a temporary folder; return the last loss."""
    silence = contextlib.redirect_stdout(io.StringIO())
    with tempfile.TemporaryDirectory() as folder, silence:
        cfg = cfg | {"workdir": folder}
        aux = konfig.resolve(cfg).train()[1]
    return float(aux.compute().loss_values["losses/log_cosh"])


def command(*overrides: str, workdir: str) -> list[str]:
    """Return the command line that trains the config of this module.

    >>> command("--cfg.model.hidden=128", workdir="run")[1:3]
    ['-m', 'kauldron.main']
    """
    this = f"--cfg={pathlib.Path(__file__)}"
    program = [sys.executable, "-m", "kauldron.main"]
    return [*program, this, f"--cfg.workdir={workdir}", *overrides]


def run_command(*overrides: str) -> tuple[float, konfig.ConfigDict]:
    """Run the command line in a process of its own.

    Returns:
      The last loss that it wrote for TensorBoard, and the config that it saved.

    Raises:
      subprocess.CalledProcessError: if the command fails.
    """
    from snippets.trainer import scalars

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            command(*overrides, workdir=folder), check=True, capture_output=True
        )
        losses = scalars(pathlib.Path(folder) / "train")["losses/log_cosh"]
        saved = json.loads((pathlib.Path(folder) / "config.json").read_text("utf-8"))
    saved["workdir"] = None  # a temporary folder, of no interest
    return losses[max(losses)], konfig.ConfigDict(saved)


def bars(losses: dict[str, float]) -> Picture:
    """Draw the last loss of each variant, the baseline in grey."""
    figure = Figure(figsize=(6.8, 3.2))
    axes = figure.subplots()
    names = list(losses)[::-1]
    colours = [GREY if name == "baseline" else BLUE for name in names]
    drawn = axes.barh(names, [losses[name] for name in names], color=colours)
    axes.bar_label(drawn, fmt="%.4f", padding=3)
    axes.set_xlabel("loss of the last step")
    axes.set_xlim(0, max(losses.values()) * 1.15)
    axes.spines[["top", "right"]].set_visible(False)
    return Picture(figure, "\n".join(f"{n}: {loss:.4f}" for n, loss in losses.items()))


def run_in_main() -> str:
    """Run `snippets.in_main` as a program and return what it prints."""
    program = [sys.executable, "-m", "snippets.in_main"]
    run = subprocess.run(program, check=True, capture_output=True, text=True)
    return run.stdout


def parse(*overrides: str) -> konfig.ConfigDict:
    """Parse overrides as `kauldron.main` does, without starting a process.

    Args:
      overrides: such as ``--cfg.model.hidden=128``.

    Returns:
      The config of this module, overridden.

    >>> parse("--cfg.seed=3").seed
    3
    """
    arguments = ["program", f"--cfg={pathlib.Path(__file__)}", *overrides]
    flag_values = flags.FlagValues()
    # The flag looks for its overrides in sys.argv itself.
    with mock.patch.object(sys, "argv", arguments):
        config = konfig.DEFINE_config_file("cfg", flag_values=flag_values)
        flag_values(arguments)
        return config.value
