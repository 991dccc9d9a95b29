"""What the chapter *guardrails* only shows: each message has its cause and no other."""

import dataclasses
import functools
import json
import re
import traceback

import flax.linen as nn
import jax
import numpy as np
import optax
import pytest
from kauldron import kd, konfig

from snippets import experiment
from snippets.guardrails import created_at, unfilled, without_notes
from snippets.sweep import get_config

with konfig.imports():
    import flax.linen as noted_nn
    import optax as noted_optax
    from kauldron import kd as noted_kd


@pytest.fixture(autouse=True, scope="module")
def own_folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("guardrails"))
        yield


def assigned(**fields):
    """Return an empty config after the assignment of some fields."""
    cfg = konfig.ConfigDict()
    for name, value in fields.items():
        setattr(cfg, name, value)
    return cfg


def resolved(**changes):
    """Resolve the experiment with some values put in by their paths."""
    cfg = get_config()
    for path, value in ({"workdir": "run"} | changes).items():
        *way, last = path.split("__")
        setattr(functools.reduce(getattr, way, cfg), last, value)
    return konfig.resolve(cfg)


def derive(base):
    return type("Derived", (base,), {})


def ask(cfg, *, reference):
    steps = cfg.ref.num_train_steps if reference else cfg.num_train_steps
    return 100 if steps > 100 else 10


def with_reference(name):
    cfg = get_config()
    cfg.workdir = "run"
    cfg.log_metrics_every = getattr(cfg.ref, name)
    return konfig.resolve(cfg)


def evaluated(**changes):
    evaluator = kd.evals.Evaluator(run=kd.evals.EveryNSteps(10))
    return experiment.trainer(evals={"held_out": evaluator}, **changes)


def pipeline(**changes):
    fields = {"loader": experiment.training_rows, "batch_size": 32, "shuffle": True}
    return kd.data.InMemoryPipeline(**fields | changes)


def bare(**changes):
    return konfig.resolve(noted_kd.train.Trainer(**changes))


def assign_seed(trainer):
    trainer.seed = 3


def from_json(wrap):
    cfg = get_config()
    cfg.num_train_steps, cfg.workdir = 1, "from_json"
    return konfig.resolve(wrap(json.loads(cfg.to_json()))).train()


def quick(**changes):
    """Return a trainer for one step, which writes nothing."""
    return experiment.trainer(**{"num_train_steps": 0, "writer": None} | changes)


def step(**keys):
    trainer = experiment.trainer(train_losses={"fit": experiment.LogCosh(**keys)})
    return trainer.trainstep.step(trainer.init_state(), next(iter(trainer.train_ds)))


RIGHT = {"preds": "preds.y", "targets": "batch.y"}

# For each message of the page's table: its error, what causes it, and the same thing
# done right.
GUARDRAILS = {
    "To avoid mixing configurable and resolved python object": (
        ValueError,
        lambda: assigned(model=nn.Dense(32)),
        lambda: konfig.resolve(assigned(model=noted_nn.Dense(32))),
    ),
    "missing 1 required positional argument: 'update'": (
        TypeError,
        lambda: assigned(optimizer=optax.adam(0.01)),
        lambda: konfig.resolve(assigned(optimizer=noted_optax.adam(0.01))),
    ),
    "You're trying to inherit from a `konfig` object": (
        ValueError,
        lambda: derive(noted_nn.Module),
        lambda: derive(nn.Module),
    ),
    "cannot be used for control flow": (
        NotImplementedError,
        lambda: ask(get_config(), reference=True),
        lambda: ask(get_config(), reference=False),
    ),
    "got an unexpected keyword argument 'hiden'": (
        TypeError,
        lambda: resolved(model__hiden=64),
        lambda: resolved(model__hidden=64),
    ),
    "missing 3 required keyword-only arguments": (
        TypeError,
        bare,
        lambda: bare(**dict(get_config().items()) | {"workdir": "run"}),
    ),
    "Error assigning 'workdir': Invalid path type: None": (
        TypeError,
        lambda: konfig.resolve(get_config()),
        resolved,
    ),
    'Did you mean "num_train_steps" instead of "num_steps"?': (
        AttributeError,
        lambda: with_reference("num_steps"),
        lambda: with_reference("num_train_steps"),
    ),
    "Eval dataset missing": (
        ValueError,
        evaluated,
        lambda: evaluated(eval_ds=experiment.training_data()),
    ),
    "int() argument must be a string, a bytes-like object or a real number,"
    " not '_FakeRootCfg'": (
        TypeError,
        lambda: next(iter(pipeline())),
        lambda: next(iter(pipeline(seed=0))),
    ),
    "Invalid path type: _FakeRootCfg('cfg.workdir')": (
        TypeError,
        lambda: kd.ckpts.Checkpointer(save_interval_steps=10).latest_step,
        lambda: (
            kd.ckpts.Checkpointer(
                save_interval_steps=10, workdir="/no/such/folder"
            ).latest_step
        ),
    ),
    "is an unresolved `ROOT_CFG_REF` value": (
        ValueError,
        lambda: kd.train.RngStreams().init_rngs(),
        lambda: experiment.trainer().rng_streams.init_rngs(),
    ),
    "cannot assign to field 'seed'": (
        dataclasses.FrozenInstanceError,
        lambda: assign_seed(experiment.trainer()),
        lambda: experiment.trainer().replace(seed=3),
    ),
    "--workdir must be set when running on XManager.": (
        ValueError,
        lambda: quick().train(),
        lambda: quick(workdir="by_hand").train(),
    ),
    "trainer.num_train_steps is None": (
        ValueError,
        lambda: quick(num_train_steps=None, workdir="steps").train(),
        lambda: quick(workdir="steps").train(),
    ),
    "'dict' object has no attribute 'to_json'": (
        AttributeError,
        lambda: from_json(dict),
        lambda: from_json(konfig.ConfigDict),
    ),
    "Couldn't resolve path for 'preds'": (
        KeyError,
        lambda: step(**RIGHT | {"preds": "preds.z"}),
        lambda: step(**RIGHT),
    ),
    "Cannot resolve required keys": (
        ValueError,
        lambda: step(preds="preds.y"),
        lambda: step(**RIGHT),
    ),
}


@functools.cache
def message_of(text):
    """Return what Python prints for the error of this message's cause."""
    error_class, cause, _ = GUARDRAILS[text]
    with pytest.raises(error_class) as caught:
        cause()
    return "".join(traceback.format_exception_only(caught.value))


def table_of_the_page(root):
    """Return the messages in the table of the page, without their backticks."""
    page = (root / "docs/guardrails.md").read_text("utf-8")
    table = page.split("(guardrails-table)=")[1].split("(guardrails-carry-away)=")[0]
    rows = [row.split("|")[2].strip() for row in table.splitlines() if row[:1] == "|"]
    return [re.sub(r"^`+|`+$", "", row) for row in rows[2:]]


def test_the_table_lists_every_guardrail_once(root):
    assert table_of_the_page(root) == list(GUARDRAILS)


@pytest.mark.parametrize("cause", GUARDRAILS)
def test_a_cause_raises_its_message_and_no_other(cause):
    assert [text for text in GUARDRAILS if text in message_of(cause)] == [cause]


@pytest.mark.parametrize("text", GUARDRAILS)
def test_done_right_it_raises_nothing(text):
    GUARDRAILS[text][2]()


@pytest.mark.parametrize(
    "value",
    [
        np.zeros(3),
        np.float32(0.1),
        np.int64(1),
        jax.numpy.zeros(3),
        experiment.training_rows,
        experiment.MLP,
        experiment.LogCosh(**RIGHT),
        optax.constant_schedule(0.1),  # a function, unlike an optimizer
        [nn.Dense(3)],
        {"layer": {"first": (nn.Dense(3),)}},
    ],
)
def test_what_is_no_value_is_refused_with_the_friendly_message(value):
    with pytest.raises(ValueError, match="To avoid mixing configurable and resolved"):
        assigned(field=value)


@pytest.mark.parametrize(
    "optimizer",
    [
        optax.adam(0.1),
        optax.sgd(0.1),
        optax.clip(1.0),
        optax.chain(optax.clip(1.0), optax.sgd(0.1)),
        optax.identity(),
    ],
)
def test_no_optimizer_gets_it(optimizer):
    for place in ({"optimizer": optimizer}, {"list": [1, optimizer]}):
        with pytest.raises(TypeError, match="argument: 'update'"):
            assigned(**place)


@pytest.mark.parametrize(
    "value", [1, 0.5, np.float64(0.5), True, "a", b"a", None, ..., [1], (1, {"a": 2})]
)
def test_values_are_accepted(value):
    assert "field" in assigned(field=value)


def at(root, names):
    """Return what a marker's names lead to, from the trainer on."""
    return functools.reduce(getattr, names, root)


@pytest.fixture(scope="module")
def full():
    """Return a trainer in which each part is one that waited for it."""
    return experiment.trainer(
        train_ds=pipeline(),
        eval_ds=pipeline(),
        checkpointer=kd.ckpts.Checkpointer(save_interval_steps=10),
        evals={"held_out": kd.evals.Evaluator(run=kd.evals.EveryNSteps(10))},
        seed=7,
        workdir="/no/such/folder",
    )


PARTS = {
    "train_ds": lambda trainer: trainer.train_ds,
    "eval_ds": lambda trainer: trainer.eval_ds,
    "rng_streams": lambda trainer: trainer.rng_streams,
    "checkpointer": lambda trainer: trainer.checkpointer,
    "trainstep": lambda trainer: trainer.trainstep,
    "trainstep.aux": lambda trainer: trainer.trainstep.aux,
    "writer": lambda trainer: trainer.writer,
    "evals": lambda trainer: trainer.evals["held_out"],
}


@pytest.mark.parametrize("part", PARTS)
def test_a_part_waits_outside_a_trainer_and_is_filled_inside(part, full):
    inside = PARTS[part](full)
    assert unfilled(inside) == {}
    # The same kind of part, made alone: its defaults.
    waiting = {
        field.name: repr(field.default)
        for field in dataclasses.fields(inside)
        if repr(field.default).startswith("_FakeRootCfg(")
    }
    assert waiting
    for field, reference in waiting.items():
        names = re.fullmatch(r"_FakeRootCfg\('cfg\.?(.*)'\)", reference)[1]
        value, expected = getattr(inside, field), at(full, [n for n in [names] if n])
        if field == "writer":  # the evaluator's own collection, in the same folder
            assert (value.workdir, value.collection) == (full.workdir, "held_out")
        else:
            assert value is expected or value == expected


@pytest.mark.parametrize("part", PARTS)
def test_a_replaced_trainer_fills_its_parts_anew(part, full):
    other = full.replace(seed=8, model=experiment.MLP(hidden=4), workdir="/no/such")
    inside = PARTS[part](other)
    for field in ("seed", "model", "workdir"):
        default = {f.name: f.default for f in dataclasses.fields(inside)}.get(field)
        if repr(default).startswith("_FakeRootCfg("):
            assert getattr(inside, field) == getattr(other, field)
            assert getattr(PARTS[part](full), field) == getattr(full, field)


@pytest.mark.parametrize("seed", [0, 100])
def test_only_a_filled_seed_is_put_back(seed):
    def replaced(trainer, ds):
        changed = dataclasses.replace(ds, seed=seed)
        return dataclasses.replace(trainer, train_ds=changed).train_ds.seed

    filled = experiment.trainer(train_ds=pipeline(), seed=7)
    written = experiment.trainer(train_ds=pipeline(seed=1), seed=7)
    assert replaced(filled, filled.train_ds) == 7
    assert replaced(filled, pipeline()) == seed
    assert replaced(written, written.train_ds) == seed


def test_a_replaced_trainer_leaves_the_record_of_its_config():
    trainer = resolved(num_train_steps=1, workdir="recorded").replace(seed=3)
    trainer.train()
    written = json.loads((trainer.workdir / "config.json").read_text())
    assert (trainer.seed, written["seed"]) == (3, 0)


def test_a_trainer_made_by_hand_leaves_no_record():
    trainer = experiment.trainer(num_train_steps=0, workdir="unrecorded")
    trainer.train()
    assert (trainer.workdir / "train_complete.txt").exists()
    assert not (trainer.workdir / "config.json").exists()


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("hiden", "cfg = kd.train.Trainer()"),
        ("model__hiden", 'cfg.model = experiment.MLP(x="batch.x", hidden=32)'),
        ("optimizer__rate", "cfg.optimizer = optax.adam(learning_rate=0.01)"),
    ],
)
def test_the_cause_knows_where_the_call_was_written(path, line):
    with pytest.raises(TypeError) as caught:
        resolved(**{path: 1})
    assert created_at(caught.value) == f"sweep.py: {line}"


def test_notes_are_taken_away_and_the_error_stays():
    error = KeyError("nope")
    error.add_note("a note")
    with pytest.raises(KeyError) as caught, without_notes():
        raise error
    assert caught.value is error
    assert traceback.format_exception_only(error) == ["KeyError: 'nope'\n"]


@pytest.mark.parametrize("kind", ["train_losses", "train_metrics"])
def test_the_specs_find_a_wrong_key_without_a_step(kind):
    part = {"train_losses": experiment.LogCosh, "train_metrics": None}[kind]
    part = (part or experiment.WithinTolerance)(**RIGHT | {"preds": "preds.z"})
    trainer = experiment.trainer(**{kind: {"wrong": part}})
    with pytest.raises(KeyError, match="Couldn't resolve path for 'preds'"):
        assert trainer.context_specs
