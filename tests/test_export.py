"""What the chapter *export* only shows: files, modes and the program that is alone."""

import dataclasses

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kauldron import kd, kontext

from snippets import experiment, export_alone
from snippets.export import (
    Doubting,
    Dropping,
    Evaluating,
    Keyless,
    Normed,
    Telling,
    alone,
    asked,
    by_hand,
    loaded,
    run,
    spread,
    told,
)

KEY = jax.random.PRNGKey(0)


@pytest.fixture
def exporting(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return run("here", exporter=kd.export.JaxModelExporter())


@pytest.mark.parametrize("count", [1, 5])
def test_the_file_computes_what_kauldron_does(exporting, count):
    asked(exporting, is_training=False, name="other")
    assert [path.name for path in exporting.workdir.iterdir()] == ["other.jax_exported"]
    function, params = loaded(exporting.workdir, "other"), exporting.init_state().params
    x = jax.random.normal(jax.random.key(count), (count, 16))
    expected = exporting.model.apply({"params": params}, x, is_training_property=False)
    found = function.call(params=params, key=KEY, x=x)["preds"]
    np.testing.assert_allclose(found["y"], expected["y"], rtol=1e-5, atol=1e-6)


def test_an_exporter_of_the_evaluation_mode_draws_nothing(exporting):
    evaluating = dataclasses.replace(exporting, exporter=Evaluating())
    for trainer, draws in ((exporting, True), (evaluating, False)):
        asked(trainer, is_training=True)
        function, params = loaded(trainer.workdir), trainer.init_state().params
        found = [
            function.call(params=params, key=jax.random.PRNGKey(k), x=jnp.ones((2, 16)))
            for k in (0, 1)
        ]
        same = (found[0]["preds"]["y"] == found[1]["preds"]["y"]).all()
        assert bool(same) is not draws


def test_what_a_model_must_not_do(exporting):
    cannot = dataclasses.replace(exporting, model=Doubting())
    with pytest.raises(Exception, match="inconclusive"):
        asked(cannot, is_training=True)
    asked(cannot, is_training=True, batch_specs="32, ...")
    with pytest.raises(ValueError, match="different size 8 for known dimension"):
        asked(cannot, is_training=True, batch_specs="8, ...")
    keyless = dataclasses.replace(exporting, model=Keyless())
    with pytest.raises(AssertionError):
        asked(keyless, is_training=True)


@pytest.mark.parametrize("model", [Dropping(), Normed(), experiment.MLP()])
def test_by_hand_is_the_evaluation_of_any_number_of_rows(exporting, model):
    state = dataclasses.replace(exporting, model=model).init_state()
    variables = {"params": state.params, **state.collections}
    function = jax.export.deserialize(by_hand(model, variables))
    for count in (1, 9):
        x = jax.random.normal(jax.random.key(count), (count, 16))
        expected = model.apply(variables, x, is_training_property=False)["y"]
        np.testing.assert_allclose(function.call(x)["y"], expected, atol=1e-5)


def test_a_run_that_resumes_does_not_ask(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert isinstance(Telling(), kd.export.ModelExporter)
    assert len(told(10)) == 1 and told(11) == []


def test_alone_is_the_same(exporting):
    asked(exporting, is_training=True)
    params = exporting.init_state().params
    lines = alone(exporting.workdir, params, 3).splitlines()
    expected = loaded(exporting.workdir).call(
        params=params, key=KEY, x=np.ones((3, 16), np.float32)
    )
    assert lines[0].split() == [f"{y:.4f}" for y in expected["preds"]["y"][:, 0]]
    assert [line.split()[1] for line in lines[1:]] == ["True"] * 2 + ["False"] * 3


def test_alone_needs_all_its_files(tmp_path):
    with pytest.raises(RuntimeError, match="FileNotFoundError"):
        alone(tmp_path, {"a": np.zeros(1)}, 1)


def test_nested_is_the_way_back():
    tree = {"a": {"b": {"c": 1}, "d": 2}, "e": 3}
    assert export_alone.nested(kontext.flatten_with_path(tree)) == tree


def test_a_method_without_layers_cannot_be_exported(exporting):
    """It has no intermediates, and the exporter asks for them."""

    class Doubling(nn.Module):
        x: kontext.Key = "batch.x"

        @nn.compact
        def __call__(self, x):
            return {"y": nn.Dense(1, name="out")(x)}

        def double(self, x):
            return {"y": 2 * x}

    twice = dataclasses.replace(exporting, model=Doubling())
    with pytest.raises(KeyError, match="intermediates"):
        asked(twice, is_training=True, model_method="double")


def test_the_picture_shows_its_numbers():
    picture = spread(np.array([-1.0, 0.0, 2.0]), 0.5)
    assert repr(picture) == "3 keys: -1.0 to 2.0\nevaluation: 0.5"
