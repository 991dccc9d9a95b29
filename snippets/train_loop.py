"""A trainer with everything on, and its parts: what the chapter *train-loop* shows."""

import contextlib
import dataclasses
import functools
import pathlib
import traceback
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from unittest import mock

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp
import kauldron.contrib.train
import numpy as np
import optax
from kauldron import kd, kontext
from kauldron.contrib.train import mlflow_metric_writer
from kauldron.ktyping import Float
from matplotlib.figure import Figure
from tensorboard.backend.event_processing import event_accumulator

from snippets import experiment, resume
from snippets.loss_and_metric import plain_log_cosh
from snippets.showing import BLUE, GREEN, GREY, ORANGE, Picture

# The fields of a trainer, by what they decide.
GROUPS = {
    "what is trained": ("train_ds", "model", "train_losses", "optimizer"),
    "where it begins": ("seed", "rng_streams", "init_transform"),
    "how far, how often": (
        "num_train_steps",
        "stop_after_steps",
        "log_metrics_every",
        "log_summaries_every",
    ),
    "what is logged": ("train_metrics", "train_summaries", "schedules", "writer"),
    "what else is done": ("evals", "eval_ds", "checkpointer", "exporter"),
    "how a step is taken": (
        "trainstep",
        "sharding",
        "checkify_error_categories",
        "profiler",
    ),
    "what surrounds it": ("workdir", "setup", "aux", "xm_job", "raw_cfg"),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Collected(kd.metrics.Metric):
    """Collects a tensor over all batches: a summary that is an array.

    Attributes:
      tensor: its key, float `(batch, …)`.
    """

    tensor: kontext.Key = kontext.REQUIRED

    @flax.struct.dataclass
    class State(kd.metrics.AutoState):
        """What came so far, one batch behind the other."""

        tensor: Float["n *any"] = kd.metrics.concat_field()

        def compute(self) -> Float["n *any"]:
            """Return all of it."""
            return super().compute().tensor

    def get_state(self, tensor: Float["n *any"]) -> State:
        """Return the tensor of one batch."""
        return self.State(tensor=tensor)


def everything(workdir: pathlib.Path, **changes) -> kd.train.Trainer:
    """Return the experiment with all that a loop can do, at intervals that differ.

    Its schedule is made for three hundred steps, and it stops after sixty-one.

    Args:
      workdir: where the run writes; made absolute.
      changes: fields of `kd.train.Trainer` that should be different.
    """
    rate = optax.cosine_decay_schedule(1e-2, 300)
    fields = {
        "stop_after_steps": 61,
        "optimizer": optax.adam(rate),
        "schedules": {"learning_rate": rate},
        "log_metrics_every": 4,
        "log_summaries_every": 12,
        "train_summaries": {
            "predicted": Collected(tensor="preds.y"),
            "kernel": kd.summaries.HistogramSummary(tensor="params.enc.kernel"),
        },
        "evals": {"test": kd.evals.Evaluator(run=kd.evals.EveryNSteps(6))},
        "checkpointer": kd.ckpts.Checkpointer(save_interval_steps=12),
        "writer": kauldron.contrib.train.NpzWriter(key_patterns=["predicted"]),
        "profiler": kd.inspect.Profiler(
            first_profile=1, num_profile_steps=3, profile_duration_ms=0, on_colab=True
        ),
    }
    return resume.run(workdir, 300, **fields | changes)


@dataclasses.dataclass(frozen=True)
class Event:
    """Something that a loop did.

    Attributes:
      what: a word for it.
      step: the step of the loop in which it happened.
    """

    what: str
    step: int


# What a round of the loop may consist of, in the order of the first of each.
LANES = ("evaluate", "save", "batch", "step", "log", "profile")


def record(run: kd.train.Trainer) -> tuple[kd.train.TrainState, list[Event]]:
    """Train, and note the calls that the loop makes, in the order in which they come.

    Calls made by one of these calls are not noted.

    Returns:
      The last state, and what happened.
    """
    watched = {
        "set up": (run.setup, "run"),
        "make a state": (run.trainstep, "init"),
        "restore": (run.checkpointer, "restore"),
        "write the config": (run.writer, "write_config"),
        "write the parameters": (run.writer, "write_param_overview"),
        "write the element spec": (run.writer, "write_element_spec"),
        "write the context": (run.writer, "write_context_structure"),
        "export": (run.exporter, "export"),
        "save": (run.checkpointer, "save"),
        "batch": (iter(run.train_ds), "__next__"),
        "step": (run.trainstep, "step"),
        "log": (run.writer, "write_step_metrics"),
        "profile": (run.profiler, "__call__"),
        "wait for the saves": (run.checkpointer, "wait_until_finished"),
    }
    if run.evals:
        watched["evaluate"] = (next(iter(run.evals.values())), "evaluate")
    happened: list[Event] = []
    busy: list[str] = []

    def noting(what: str, call: Callable) -> Callable:
        def noted(*args, **kwargs):
            if not busy:
                # The profiler's hook is the last call of each round.
                rounds = sum(event.what == "profile" for event in happened)
                happened.append(Event(what, rounds))
            busy.append(what)
            try:
                return call(*args, **kwargs)
            finally:
                busy.pop()

        return noted

    with contextlib.ExitStack() as patches:
        for what, (part, method) in watched.items():
            call = noting(what, getattr(type(part), method))
            patches.enter_context(mock.patch.object(type(part), method, call))
        state = run.train()[0]
    return state, happened


def rounds(happened: list[Event]) -> dict[int, list[str]]:
    """Return what happened in each round of the loop, in order.

    >>> rounds([Event("export", 0), Event("batch", 0), Event("step", 0)])
    {0: ['batch', 'step']}
    """
    begin = [event.what for event in happened].index("export") + 1
    found: dict[int, list[str]] = {}
    for event in happened[begin:]:
        if event.what in LANES:
            found.setdefault(event.step, []).append(event.what)
    return found


def timeline(happened: list[Event], last: int) -> Picture:
    """Draw what happened in the rounds of a loop, up to a step, one lane for each kind.

    Args:
      happened: what `record` has noted.
      last: the last step to be drawn.
    """
    shown = {step: what for step, what in rounds(happened).items() if step <= last}
    order = [(step, what) for step, parts in shown.items() for what in parts]
    figure = Figure(figsize=(7, 3.2))
    axes = figure.subplots()
    lanes = [LANES.index(what) for step, what in order]
    axes.plot(range(len(order)), lanes, color=GREY, linewidth=0.5, zorder=1)
    colours = dict(zip(LANES, (ORANGE, GREEN, GREY, "black", BLUE, GREY), strict=True))
    for lane, what in enumerate(LANES):
        at = [place for place, (step, one) in enumerate(order) if one == what]
        axes.plot(at, [lane] * len(at), "o", color=colours[what], markersize=4.5)
    middles, end = [], -0.5
    for step, parts in shown.items():
        if step % 2:
            axes.axvspan(end, end + len(parts), color="0.93", linewidth=0, zorder=0)
        middles.append(end + len(parts) / 2)
        end += len(parts)
    axes.set_xticks(middles, list(shown))
    axes.set_yticks(range(len(LANES)), LANES)
    axes.set_xlim(-0.5, end)
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.set_xlabel("step")
    axes.spines[["top", "right", "left"]].set_visible(False)
    return Picture(figure, "\n".join(f"{s}: {', '.join(p)}" for s, p in shown.items()))


class Stages(typing.NamedTuple):
    """The context of a step, as each of its readers meets it.

    Attributes:
      model: before the model is applied.
      losses: with the outputs of the model.
      metrics: with losses, gradients and updates.
      end: with the states of metrics and summaries, too.
    """

    model: kd.train.Context
    losses: kd.train.Context
    metrics: kd.train.Context
    end: kd.train.Context


def stages(
    run: kd.train.Trainer, state: kd.train.TrainState, batch: Mapping[str, jax.Array]
) -> Stages:
    """Take a training step from its public parts; return how the context fills up."""
    how = {
        "model": run.model,
        "rngs": run.rng_streams.train_rngs(state.step),
        "is_training": True,
    }
    start = kd.train.Context.from_state_and_batch(state=state, batch=batch)
    applied = kd.train.forward(start, **how)

    gradient = jax.grad(kd.train.forward_with_loss, has_aux=True, allow_int=True)
    slopes, lost = gradient(start, losses=run.train_losses, **how)
    updates = run.optimizer.update(slopes.params, state.opt_state, state.params)[0]
    updated = lost.replace(grads=slopes.params, updates=updates)

    measures = kd.train.Auxiliaries(
        losses=run.train_losses,
        metrics=run.train_metrics,
        summaries=run.train_summaries,
    )
    return Stages(start, applied, updated, measures.update_context(updated))


def not_finite(context: kd.train.Context) -> list[str]:
    """Return the paths of a context under which something is infinite or no number.

    >>> not_finite(kd.train.Context(step=0, batch={"x": np.array([1.0, np.inf])}))
    ['batch.x']
    """
    found = []
    for path, leaf in context.flatten().items():
        array = np.asarray(leaf)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            found.append(path)
    return found


def own_loop(
    run: kd.train.Trainer, writer: kd.train.KDMetricWriter
) -> list[kd.train.AuxiliariesState]:
    """Train as the trainer does, and log the mean of all steps since the last log.

    Args:
      run: the trainer; its checkpointer and its profiler are left out.
      writer: where the means go.

    Returns:
      The states of losses and metrics of every step.
    """
    state, since, every = run.init_state(), None, []
    for step, batch in zip(range(run.stop_after_steps), run.train_ds, strict=False):
        for evaluator in run.evals.values():
            evaluator.maybe_eval(step=step, state=state)
        state, aux = run.trainstep.step(
            state, batch, return_losses=True, return_metrics=True
        )
        every.append(aux)
        since = since | aux
        if step % run.log_metrics_every == 0:
            writer.write_step_metrics(
                step=step, aux=since, schedules=run.schedules, log_summaries=False
            )
            since = None
    return every


@dataclasses.dataclass(kw_only=True, eq=False, frozen=True)
class AccumulatingStep(kd.train.TrainStep):
    """Takes the gradient of a batch in parts, one after the other, and one update.

    Metrics and losses are merged; `updates` is not there for them, and their `grads`
    are those of the part. Collections, such as batch statistics, stay as they are.

    Attributes:
      parts: how many parts; has to divide the batch.
    """

    parts: int = 4

    def _step(self, state, batch):
        parts = jax.tree.map(lambda x: x.reshape(self.parts, -1, *x.shape[1:]), batch)
        gradient = jax.grad(kd.train.forward_with_loss, has_aux=True, allow_int=True)
        streams = self.rng_streams.train_rngs(state.step)

        def add(total, numbered):
            number, part = numbered
            slopes, context = gradient(
                kd.train.Context.from_state_and_batch(state=state, batch=part),
                model=self.model,
                losses=self.aux.losses,
                rngs={name: key.fold_in(number) for name, key in streams.items()},
                is_training=True,
            )
            context = self.aux.update_context(context.replace(grads=slopes.params))
            aux = context.get_aux_state(return_losses=True, return_metrics=True)
            return jax.tree.map(jnp.add, total, slopes.params), aux

        zeros = jax.tree.map(jnp.zeros_like, state.params)
        total, each = jax.lax.scan(add, zeros, (jnp.arange(self.parts), parts))
        grads = jax.tree.map(lambda x: x / self.parts, total)
        updates, opt_state = self.optimizer.update(grads, state.opt_state, state.params)
        merged = functools.reduce(
            lambda a, b: a | b,
            [jax.tree.map(lambda x, i=i: x[i], each) for i in range(self.parts)],
        )
        context = kd.train.Context.from_state_and_batch(state=state, batch=batch)
        next_state = state.replace(
            step=state.step + 1,
            params=optax.apply_updates(state.params, updates),
            opt_state=opt_state,
        )
        return next_state, context.replace(
            grads=grads,
            updates=updates,
            loss_states=merged.loss_states,
            metric_states=merged.metric_states,
        )


def kinds(folder: pathlib.Path) -> dict[str, list[str]]:
    """Return the tags below a folder, by the plugin of TensorBoard that shows them."""
    events = event_accumulator.EventAccumulator(
        str(folder), size_guidance={event_accumulator.TENSORS: 1}
    ).Reload()
    found: dict[str, list[str]] = {}
    for tag in sorted(events.Tags()["tensors"]):
        about = events.summary_metadata.get(tag)  # not every tag has a plugin
        plugin = about.plugin_data.plugin_name if about else "no plugin"
        found.setdefault(plugin, []).append(tag)
    return found


def read_back(
    train: dict[str, dict[int, float]], test: dict[str, dict[int, float]]
) -> Picture:
    """Draw what a run wrote for TensorBoard: its losses and its learning rate.

    Args:
      train: the scalars of the training, as ``{tag: {step: value}}``.
      test: those of the evaluation.
    """
    figure = Figure(figsize=(7, 4.2))
    upper, lower = figure.subplots(2, sharex=True, height_ratios=(2, 1))
    rate = train["schedules/learning_rate"]
    curves = {
        "training": (upper, BLUE, train["losses/total"]),
        "evaluation": (upper, ORANGE, test["losses/total"]),
        "learning rate": (lower, GREEN, rate),
    }
    for name, (axes, colour, points) in curves.items():
        axes.plot(
            list(points), list(points.values()), "o-", color=colour, label=name, ms=3
        )
    upper.set_yscale("log")
    upper.set_ylabel("loss (log scale)")
    upper.legend(frameon=False)
    lower.set_ylabel("learning rate")
    lower.set_xlabel("step")
    for axes in (upper, lower):
        axes.spines[["top", "right"]].set_visible(False)
    ends = ((n, p[min(p)], p[max(p)]) for n, (axes, colour, p) in curves.items())
    return Picture(figure, "\n".join(f"{n}: {a:.4g} → {b:.4g}" for n, a, b in ends))


class Noisy(nn.Module):
    """The model of the experiment, on inputs with noise from a stream of its own.

    Attributes:
      x: key of the inputs, float `(batch, features)`.
    """

    x: kontext.Key = "batch.x"

    @nn.compact
    def __call__(self, x):
        """Return the predictions as `{"y": float (batch, 1)}`."""
        noise = jax.random.normal(self.make_rng("noise"), x.shape)
        return experiment.MLP(name="mlp")(x + 0.1 * noise)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlainLogCosh(experiment.LogCosh):
    """``log(cosh(p - t))`` as it is written: far out, it overflows."""

    def get_values(self, preds, targets):
        """Return the loss of each value, infinite where `cosh` is."""
        return plain_log_cosh(preds - targets)


def one_wild_row() -> dict[str, np.ndarray]:
    """Return the training rows, one of them with a target out of all proportion."""
    rows = experiment.training_rows()
    rows["y"][300] = 1000.0
    return rows


def fragile(**changes) -> kd.train.Trainer:
    """Return a trainer whose loss overflows on one row of its data.

    Args:
      changes: fields of `kd.train.Trainer` that should be different.
    """
    fields = {
        "train_ds": experiment.training_data(loader=one_wild_row),
        "train_losses": {"fit": PlainLogCosh(preds="preds.y", targets="batch.y")},
        "train_metrics": {},
        "optimizer": optax.sgd(0.01),
        "num_train_steps": 20,
        "log_metrics_every": 1,
    }
    return experiment.trainer(**fields | changes)


@contextlib.contextmanager
def pretended_mlflow() -> Iterator[list[str]]:
    """Let the MLflow writer find, for the body, a package that only notes its calls.

    Yields:
      A list that fills with the calls.
    """
    calls: list[str] = []
    package = types.SimpleNamespace(
        log_metrics=lambda metrics, step: calls.append(
            f"log_metrics at step {step}: {', '.join(sorted(metrics))}"
        ),
        log_text=lambda text, file: calls.append(f"log_text: {file}"),
    )
    with mock.patch.object(mlflow_metric_writer, "mlflow", package):
        yield calls


def after(run: kd.train.Trainer, steps: int) -> kd.train.TrainState:
    """Return the state after some steps, taken by hand on the trainer's own data."""
    state, batches = run.init_state(), iter(run.train_ds)
    for _ in range(steps):
        state = run.trainstep.step(state, next(batches))[0]
    return state


def masked_rows() -> dict[str, np.ndarray]:
    """Return the training rows with a `mask`, float32 `(512, 1)`, of about half."""
    rows = experiment.training_rows()
    return rows | {"mask": (rows["x"][:, :1] > 0).astype(np.float32)}


def in_parts() -> dict[str, float]:
    """Compare batches of 32 with four parts of 8 each, after five updates.

    Returns:
      The largest difference of a parameter, by what is special about the trainer.
    """
    sgd, clip = optax.sgd(0.05), optax.clip_by_global_norm(0.1)

    def four(optimizer: optax.GradientTransformation) -> optax.GradientTransformation:
        steps = optax.MultiSteps(optimizer, every_k_schedule=4)
        return steps.gradient_transformation()

    masked = experiment.LogCosh(preds="preds.y", targets="batch.y", mask="batch.mask")
    with_mask = {"train_losses": {"fit": masked}, "loader": masked_rows}
    cases = {
        "clipped outside": (optax.chain(clip, sgd), optax.chain(clip, four(sgd)), {}),
        "a masked loss": (sgd, four(sgd), with_mask),
    }
    found = {}
    for name, (of_whole, of_parts, changes) in cases.items():
        loader = changes.pop("loader", experiment.training_rows)
        whole, parts = (
            experiment.trainer(
                optimizer=optimizer,
                train_ds=experiment.training_data(loader=loader, batch_size=size),
                **changes,
            )
            for optimizer, size in ((of_whole, 32), (of_parts, 8))
        )
        one, other = after(whole, 5).params, after(parts, 20).params
        found[name] = resume.largest_difference(one, other)
    return found


def two_losses(**changes) -> kd.train.Trainer:
    """Return the experiment with two losses, `fit` and `square`.

    Args:
      changes: fields of `kd.train.Trainer` that should be different.
    """
    keys = {"preds": "preds.y", "targets": "batch.y"}
    losses = {
        "fit": experiment.LogCosh(**keys),
        "square": kd.losses.L2(**keys, weight=0.1),
    }
    return experiment.trainer(**{"train_losses": losses} | changes)


def profiled(workdir: pathlib.Path, *functions: str) -> dict[str, int]:
    """Return how many calls of some Python functions a run's profile has recorded.

    Args:
      workdir: the folder of the run.
      functions: their names, without class or module.
    """
    counts = dict.fromkeys(functions, 0)
    for file in sorted(workdir.rglob("*.xplane.pb")):
        for plane in jax.profiler.ProfileData.from_file(str(file)).planes:
            for line in plane.lines:
                for event in line.events:
                    # Such as "$chrono_utils.py:123 finish_step".
                    name = event.name.rpartition(" ")[2]
                    if event.name.startswith("$") and name in counts:
                        counts[name] += 1
    return counts


def blamed(error: BaseException, last: int = 2) -> str:
    """Return the last lines of the code that an error of `checkify` was caused in."""
    frames = traceback.extract_tb(error.__cause__.__traceback__)[-last:]
    return "\n".join(f"in {frame.name}: {frame.line}" for frame in frames)
