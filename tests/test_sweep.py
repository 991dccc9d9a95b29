"""What the chapter *sweep* only shows: a variant is its edit, however it is run."""

import json
import subprocess
import sys

import pytest
from kauldron import konfig, kontext

from snippets import sweep
from snippets.konfig import diff
from snippets.sweep import (
    VARIANTS,
    bars,
    command,
    final_loss,
    get_config,
    parse,
    run_in_main,
    variant,
)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_json_of_a_variant_differs_by_exactly_its_edit(name):
    base, changed = (json.loads(cfg.to_json()) for cfg in (get_config(), variant(name)))
    if VARIANTS[name] is None:
        assert changed == base
        return
    path, value = VARIANTS[name]
    *parents, last = path.split(".")
    place = base
    for parent in parents:
        place = place[parent]
    assert place[last] != changed
    place[last] = (
        json.loads(value.to_json()) if isinstance(value, konfig.ConfigDict) else value
    )
    assert base == changed


@pytest.mark.parametrize(
    "name", [n for n, edit in VARIANTS.items() if n.startswith("hidden")]
)
def test_the_command_line_override_is_the_variant(name):
    path, value = VARIANTS[name]
    assert diff(variant(name), parse(f"--cfg.{path}={value}")) == {}


def test_a_command_that_fails_is_no_number(monkeypatch):
    program = [sys.executable, "-c", "raise SystemExit(3)"]
    monkeypatch.setattr(sweep, "command", lambda *overrides, workdir: program)
    with pytest.raises(subprocess.CalledProcessError):
        sweep.run_command()


def test_the_override_gives_the_number_of_the_page():
    loss = final_loss(parse("--cfg.model.hidden=128"))
    assert loss == final_loss(variant("hidden 128"))
    assert f"{loss:.4f}" == "0.0034"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("baseline", "0.0099"),
        ("hidden 4", "0.0192"),
        ("learning rate 0.1", "0.0120"),
        ("SGD 0.05", "0.0480"),
    ],
)
def test_the_figures_of_the_page(name, shown):
    assert f"{final_loss(variant(name)):.4f}" == shown


def test_a_config_may_be_read_back_and_run():
    again = konfig.ConfigDict(json.loads(get_config().to_json()))
    assert diff(get_config(), again) == {}
    again.num_train_steps = again.log_metrics_every = 1
    assert final_loss(again) > 0


def test_the_command_names_the_module_and_the_overrides():
    said = command("--cfg.seed=1", workdir="run")
    assert said[0] == sys.executable and said[3].endswith("snippets/sweep.py")
    assert said[4:] == ["--cfg.workdir=run", "--cfg.seed=1"]


def test_a_class_of_main_is_found_only_in_its_own_process():
    assert run_in_main().splitlines()[-1] == "True 8"
    with pytest.raises(AttributeError, match="has no attribute 'Tiny'"):
        konfig.resolve({"__qualname__": "__main__.Tiny"})


def test_the_bars_are_the_losses():
    losses = {"baseline": 0.5, "other": 0.25}
    drawn = bars(losses).figure.axes[0].patches
    assert sorted(bar.get_width() for bar in drawn) == sorted(losses.values())


def test_every_edit_of_a_variant_is_of_a_field_that_exists():
    for edit in VARIANTS.values():
        if edit is not None:
            assert kontext.get_by_path(get_config(), edit[0]) is not None
