"""The package from end to end, in few steps."""

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from kauldron import konfig

import digits.data as data
import digits.model as model
import digits.pretrain as pretrain
import digits.serving as serving
import digits.sweep as sweep


def run(cfg, folder):
    """Train a config for a few steps; return its trainer and the last state."""
    trainer = konfig.resolve(cfg | {"workdir": str(folder), "num_train_steps": 2})
    return trainer, trainer.train()[0]


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    """Return the folder of a pretrained run, and its last checkpoint's parameters."""
    folder = tmp_path_factory.mktemp("pretrained")
    trainer, _ = run(pretrain.get_config(), folder)
    again = konfig.resolve(pretrain.get_config() | {"workdir": str(folder)})
    return folder, again.checkpointer.restore(trainer.state_specs).params


def test_a_task_has_its_own_digits_only():
    rows = data.digits_of(data.NEW, split="train")
    assert set(np.unique(rows["label"])) == {0, 1, 2, 3, 4}


def test_low_rank_moves_only_what_was_added(pretrained, tmp_path):
    folder, before = pretrained
    cfg = sweep.variant("low rank", pretrained=str(folder))
    trainer, state = run(cfg, tmp_path / "tuned")
    for name, layer in state.params["encoder"].items():
        old = before["encoder"][name]["dense"]["kernel"]
        np.testing.assert_array_equal(layer["dense"]["kernel"], old)
        assert np.any(layer["low_rank"]["up"])

    plain = model.Classifier(head="new_head")
    image = jnp.asarray(data.digits_of(data.NEW, split="test", limit=3)["image"])
    blob = serving.exported(plain, model.merged(state.params))
    variables = {"params": state.params}
    right = trainer.model.apply(variables, image, is_training_property=False)
    found = jax.export.deserialize(bytearray(blob)).call(image)
    np.testing.assert_allclose(found, right["logits"], atol=1e-5)
