"""What the chapter *train-loop* only shows: the loop's order, and steps that agree."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from kauldron import kd
from kauldron.contrib.train import (
    MLFlowMetricWriter,
    MultiTrainStep,
    NpzWriter,
    multi_optimizer,
)

from snippets import experiment
from snippets.resume import largest_difference
from snippets.train_loop import (
    GROUPS,
    LANES,
    AccumulatingStep,
    Collected,
    Event,
    Noisy,
    after,
    everything,
    fragile,
    kinds,
    masked_rows,
    not_finite,
    one_wild_row,
    own_loop,
    pretended_mlflow,
    profiled,
    read_back,
    record,
    rounds,
    stages,
    timeline,
    two_losses,
)
from snippets.trainer import scalars

FIELDS = [field.name for field in dataclasses.fields(kd.train.Trainer)]


def test_every_field_is_in_one_group():
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(FIELDS)


@pytest.mark.parametrize("name", FIELDS)
def test_the_page_speaks_of_every_field(name, root):
    page = (root / "docs" / "train-loop.md").read_text("utf-8")
    section = page.partition("(train-loop-fields)=")[2].partition("\n(train-loop-")[0]
    assert f"{{field}}`~Trainer.{name}`" in section


def test_a_bare_loop_takes_batches_and_steps(tmp_path):
    before = vars(kd.train.TrainStep)["step"]
    bare = experiment.trainer(
        workdir=tmp_path, num_train_steps=3, log_metrics_every=2, writer=None
    )
    state, happened = record(bare)
    assert int(state.step) == 4
    assert rounds(happened) == {
        0: ["batch", "step", "log", "profile"],
        1: ["batch", "step", "profile"],
        2: ["batch", "step", "log", "profile"],
        3: ["batch", "step", "profile"],
    }
    assert vars(kd.train.TrainStep)["step"] is before  # watched no longer


def test_evaluations_see_the_parameters_before_their_step(tmp_path):
    seen = {}

    class Watching(kd.evals.Evaluator):
        def evaluate(self, state, step):
            seen[step] = int(state.step)

    run = everything(
        tmp_path,
        stop_after_steps=4,
        evals={"test": Watching(run=kd.evals.EveryNSteps(1))},
        checkpointer=None,
        profiler=None,
    )
    run.train()
    assert seen == {step: step for step in range(4)}


def test_a_resumed_run_does_not_describe_itself_again(tmp_path):
    changes = {"evals": {}, "profiler": None, "log_metrics_every": 100}
    changes |= {"train_summaries": {}, "log_summaries_every": 100}
    for last in (13, 14):
        run = everything(tmp_path, stop_after_steps=last, **changes)
        happened = [event.what for event in record(run)[1]]
        described = [what for what in happened if what.startswith("write")]
        assert len(described) == (4 if last == 13 else 0)
        assert happened.count("step") == (13 if last == 13 else 2)


def test_the_timeline_shows_what_happened():
    words = ("export", "evaluate", "batch", "step", "profile")
    happened = [Event(what, 0) for what in words]
    happened += [Event(what, 1) for what in ("batch", "step", "log", "profile")]
    picture = timeline(happened, last=1)
    axes = picture.figure.axes[0]
    order = [LANES[int(lane)] for lane in axes.lines[0].get_ydata()]
    assert order == [*words[1:], "batch", "step", "log", "profile"]
    assert sum(len(line.get_xdata()) for line in axes.lines[1:]) == len(order)
    assert [label.get_text() for label in axes.get_yticklabels()] == list(LANES)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "1"]
    assert repr(timeline(happened, last=0)) == "0: evaluate, batch, step, profile"


def test_the_stages_are_a_step():
    run = experiment.trainer()
    state, batch = run.init_state(), next(iter(run.train_ds))
    found = jax.jit(functools.partial(stages, run))(state, batch)

    def loss(params):
        predictions = run.model.apply({"params": params}, batch["x"])["y"]
        return experiment.log_cosh(predictions - batch["y"]).mean()

    expected = jax.grad(loss)(state.params)
    assert largest_difference(found.metrics.grads, expected) < 1e-6
    aux = run.trainstep.step(state, batch, return_losses=True, return_metrics=True)[1]
    ours = found.end.get_aux_state(return_losses=True, return_metrics=True).compute()
    for name, value in aux.compute().loss_values.items():
        np.testing.assert_allclose(ours.loss_values[name], value, rtol=1e-5)
    near = aux.compute().metric_values["metrics/near"]
    assert ours.metric_values["metrics/near"] == near


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_found_by_its_path(wrong):
    batch = {"x": np.array([0.0, wrong]), "y": np.zeros(2), "n": np.arange(2)}
    context = kd.train.Context(step=0, batch=batch, preds={"y": jnp.array([wrong])})
    assert not_finite(context) == ["batch.x", "preds.y"]


def test_the_own_loop_logs_the_mean_since_the_last_log(tmp_path):
    run = everything(tmp_path, stop_after_steps=7, log_metrics_every=3, evals={})
    every = own_loop(run, run.writer)
    losses = [float(aux.compute().loss_values["losses/total"]) for aux in every]
    logged = scalars(tmp_path / "train")["losses/total"]
    means = {0: losses[0], 3: np.mean(losses[1:4]), 6: np.mean(losses[4:7])}
    assert logged == pytest.approx(means, rel=1e-5)
    assert len(losses) == 7


@pytest.mark.parametrize("parts", [1, 8])
def test_a_batch_in_parts_is_the_batch(parts):
    whole = experiment.trainer()
    accumulating = whole.replace(trainstep=AccumulatingStep(parts=parts))
    batch = next(iter(whole.train_ds))
    states, values = [], []
    for run in (whole, accumulating):
        state, aux = run.trainstep.step(
            run.init_state(), batch, return_losses=True, return_metrics=True
        )
        states.append(state)
        values.append(aux.compute())
    assert largest_difference(states[0].params, states[1].params) < 1e-5
    assert int(states[1].step) == 1
    one, other = values
    assert other.metric_values == one.metric_values
    np.testing.assert_allclose(
        other.loss_values["losses/total"], one.loss_values["losses/total"], rtol=1e-5
    )


def test_each_part_draws_its_own_random_numbers():
    streams = kd.train.RngStreams([kd.train.RngStream("noise")])
    run = experiment.trainer(model=Noisy(), rng_streams=streams)
    batch = next(iter(run.train_ds))
    twice = {name: np.concatenate([a[:8], a[:8]]) for name, a in batch.items()}
    once = {name: array[:8] for name, array in batch.items()}

    def gradient(parts, rows):
        step = run.replace(trainstep=AccumulatingStep(parts=parts)).trainstep
        return jax.jit(step._step)(run.init_state(), rows)[1].grads

    # The same rows in both parts, with the same noise, would give this gradient.
    assert largest_difference(gradient(2, twice), gradient(1, once)) > 1e-4


def test_clipped_inside_the_parts_are_the_batch():
    optimizer = optax.chain(optax.clip_by_global_norm(0.1), optax.sgd(0.05))
    whole = experiment.trainer(optimizer=optimizer)
    parts = experiment.trainer(
        optimizer=optax.MultiSteps(optimizer, every_k_schedule=4),
        train_ds=experiment.training_data(batch_size=8),
    )
    assert largest_difference(after(whole, 2).params, after(parts, 8).params) < 1e-6


def test_about_half_of_the_rows_are_masked():
    rows = masked_rows()
    assert rows["mask"].shape == (512, 1) and set(np.unique(rows["mask"])) == {0, 1}
    assert 0.4 < rows["mask"].mean() < 0.6


def test_each_loss_has_its_gradient_and_its_optimizer():
    slow, fast = optax.sgd(0.01), optax.sgd(0.1)
    run = two_losses(
        optimizer=multi_optimizer(fit=slow, square=fast), trainstep=MultiTrainStep()
    )
    state, batch = run.init_state(), next(iter(run.train_ds))
    context = jax.jit(run.trainstep._step)(state, batch)[1]
    expected = jax.tree.map(
        lambda a, b: -0.01 * a - 0.1 * b,
        context.subgrads["fit"],
        context.subgrads["square"],
    )
    assert largest_difference(context.updates, expected) < 1e-6


def test_an_array_is_saved_only_if_its_name_matches(tmp_path):
    states = {
        name: Collected(tensor="preds.y").get_state(tensor=np.ones((2, 1), np.float32))
        for name in ("one", "other")
    }
    aux = kd.train.AuxiliariesState(summary_states=states)
    for patterns, saved in ((None, ["one", "other"]), (["other"], ["other"])):
        folder = tmp_path / str(patterns)
        writer = NpzWriter(workdir=folder, collection="a", key_patterns=patterns)
        writer.write_step_metrics(step=3, aux=aux, schedules={}, log_summaries=True)
        with np.load(folder / "array_dumps/a/000000003.npz") as arrays:
            assert sorted(arrays) == [f"summaries/{name}" for name in saved]
        writer.write_step_metrics(step=4, aux=aux, schedules={}, log_summaries=False)
        assert len(list((folder / "array_dumps/a").iterdir())) == 1


def test_collected_tensors_merge_in_order():
    metric = Collected(tensor="preds.y")
    first = metric.get_state(tensor=np.full((2, 1), 2.0, np.float32))
    second = metric.get_state(tensor=np.full((3, 1), 3.0, np.float32))
    merged = first.merge(second).finalize().compute()
    assert merged[:, 0].tolist() == [2, 2, 3, 3, 3]


def test_one_row_is_wild():
    difference = one_wild_row()["y"] != experiment.training_rows()["y"]
    assert difference.sum() == 1
    assert (
        fragile().train_losses["fit"](
            preds=np.zeros((1, 1), np.float32), targets=np.full((1, 1), 1e3, np.float32)
        )
        == np.inf
    )


def test_the_pretended_package_goes_again(tmp_path):
    writer = MLFlowMetricWriter(
        workdir=tmp_path, collection="a", pass_to_default_writer=False
    )
    with pretended_mlflow() as calls:
        writer.write_scalars(3, {"b": 1.0, "a": 2.0})
        writer.write_element_spec(0, {})
    assert calls == ["log_metrics at step 3: a/a, a/b", "log_text: element_spec.txt"]
    with pytest.raises(ImportError):
        writer.write_scalars(4, {"b": 1.0})


def test_no_profile_no_calls(tmp_path):
    assert profiled(tmp_path, "finish_step") == {"finish_step": 0}


def test_tags_are_sorted_by_plugin(tmp_path):
    writer = kd.train.KDMetricWriter(workdir=tmp_path, collection="a")
    writer.write_scalars(0, {"b": 1.0, "a": 2.0})
    writer.write_texts(0, {"words": "some"})
    writer.flush()
    assert kinds(tmp_path / "a") == {"scalars": ["a", "b"], "text": ["words"]}


def test_the_pictures_show_their_curves():
    train = {
        "schedules/learning_rate": {0: 0.01, 4: 0.009},
        "losses/total": {0: 1.0, 4: 0.5},
    }
    test = {"losses/total": {0: 1.1, 6: 0.4}}
    picture = read_back(train, test)
    upper, lower = picture.figure.axes
    drawn = [list(line.get_ydata()) for line in (*upper.lines, *lower.lines)]
    assert drawn == [[1.0, 0.5], [1.1, 0.4], [0.01, 0.009]]
    assert "training: 1 → 0.5" in repr(picture)
