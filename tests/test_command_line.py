"""What the chapter *command-line* only shows: a flag is the edit that it says."""

import subprocess
import sys
import types

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from kauldron import kd, konfig

from snippets import command_line, kauldron_cli, sweep, with_args
from snippets.command_line import (
    CFG,
    Splitter,
    cfg_flag,
    fate,
    read,
    run_cli,
    said,
    stations,
)
from snippets.konfig import diff
from snippets.sweep import parse

LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("abc '\\", max_size=4),
    lambda inner: st.tuples(inner, inner) | st.dictionaries(st.text("ab"), inner),
    max_leaves=4,
)


@given(value=LITERALS)
@settings(max_examples=30, deadline=None)
def test_a_literal_in_an_override_is_read_as_python_reads_it(value):
    found = parse(f"--cfg.note={value!r}").note
    expected = konfig.ConfigDict({"note": value}).note
    assert found == expected and type(found) is type(expected)


@given(value=LITERALS)
@settings(max_examples=60, deadline=None)
def test_and_so_is_one_behind_py(value):
    found = parse(f"--cfg.note=py::{value!r}").note
    assert found == konfig.ConfigDict({"note": value}).note


@pytest.mark.parametrize("value", [[None], [1, None, 2], [[None, 1]]])
def test_save_that_lists_lose_none(value):
    def without(x):
        return [without(y) for y in x if y is not None] if isinstance(x, list) else x

    assert parse(f"--cfg.note=py::{value!r}").note == without(value) != value
    assert parse(f"--cfg.note={value!r}").note == value


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_all_ways_to_give_an_argument_are_the_same(optimizer):
    args = with_args.ConfigArgs(optimizer=optimizer)
    text = f"optimizer='{optimizer}'"
    ways = (
        read(f"{CFG}:{text}"),
        read(CFG, f"--cfg.__args__.optimizer={optimizer}"),
        konfig.get_config_from_module(with_args, text),
    )
    for cfg in ways:
        assert diff(with_args.get_config(args), cfg) == {}


def test_aux_is_the_edit_of_both_fields():
    edit = diff(read(CFG), read(CFG, "--cfg.aux.width=64"))
    assert edit == {"aux.width": (32, 64), "model.hidden": (32, 64)}


def test_one_file_does_not_leak_into_the_next():
    read(CFG)
    assert parse("--cfg.seed=3").seed == 3
    assert diff(sweep.get_config(), read(f"--cfg={sweep.__file__}")) == {}
    assert "cfg_config" not in sys.modules


@pytest.mark.parametrize(
    ("flags", "where"),
    [
        ((CFG,), "accepted"),
        ((CFG, "--cfg.aux.width", "64"), "accepted"),
        ((CFG, "--cfg.train_metrics.nope=1"), "accepted"),
        ((CFG, "--cfg.num_train_stepz=9"), "resolved: TypeError"),
        ((CFG, "--cfg.optimizer=optax.sgd(0.1)"), "built: TypeError"),
        ((CFG, "--cfg.optimizer=py::optax.sgd(0.1"), "built: ValueError"),
        ((CFG, "--cfg.__args__.optimizer=lion"), "built: KeyError"),
        ((CFG, "--cfg.aux.a.b=1"), "built: KeyError"),
        ((f"{CFG}x",), "parsed: OSError"),
        (("--cfg.seed=1", CFG), "parsed: FlagOrderError"),
    ],
)
def test_where_a_command_line_stops(flags, where):
    assert fate(*flags) == where


def test_the_file_is_run_when_it_is_parsed_and_get_config_when_it_is_read(tmp_path):
    log = tmp_path / "log"
    file = tmp_path / "config.py"
    file.write_text(
        "import pathlib\n"
        "from kauldron import konfig\n"
        f"log = pathlib.Path({str(log)!r})\n"
        "log.write_text('file ')\n"
        "def get_config():\n"
        "    log.write_text(log.read_text() + 'call ')\n"
        "    return konfig.ConfigDict({'a': 1})\n"
    )
    flag = cfg_flag(f"--cfg={file}", "--cfg.a=2")
    assert log.read_text() == "file "
    assert flag.value.a == flag.value.a == 2
    assert log.read_text() == "file call call "


def test_a_patched_config_trains_one_step(tmp_path):
    cfg, _ = kd.cli.PatchConfig()(read(CFG))
    del cfg.setup.add_flatboard
    cfg.workdir = str(tmp_path)
    state, _ = konfig.resolve(cfg).train()
    assert int(state.step) == 1


def test_a_replaced_optimizer_is_the_variant():
    by_flag = parse("--cfg.optimizer=py::optax.sgd(learning_rate=0.05)")
    assert diff(sweep.variant("SGD 0.05"), by_flag) == {}


@given(at=st.text(max_size=3), lower=st.booleans())
@settings(max_examples=20, deadline=None)
def test_what_is_exported_comes_back(at, lower):
    back = konfig.resolve(konfig.export(Splitter(at, lower)))
    assert type(back) is Splitter and (back.at, back.lower) == (at, lower)


def test_said_leaves_out_what_changes():
    text = said(lambda: print("a...done (12.3 sec)\n<f at 0x7fA1b2>".lower()))
    assert text == "a...done (… sec)\n<f at 0x…>"


def test_the_picture_names_each_station_once():
    picture = stations()
    words = [text.get_text() for text in picture.figure.axes[0].texts]
    assert [word for word in words if word in ("parsed", "built", "resolved")] == [
        line.split()[0] for line in repr(picture).splitlines()
    ]


def test_the_mended_program_hands_over_the_parser(monkeypatch):
    """Without importing Kauldron's program, which would define flags here."""
    cli = types.ModuleType("kauldron.cli.main")
    cli.main, cli.flag_parser = object(), object()
    ran = []
    monkeypatch.setitem(sys.modules, "kauldron.cli.main", cli)
    monkeypatch.setattr(kd.cli, "main", cli, raising=False)
    monkeypatch.setattr("absl.app.run", lambda *a, **k: ran.append((a, k)))
    kauldron_cli.main()
    assert ran == [((cli.main,), {"flags_parser": cli.flag_parser})]


def test_a_program_that_fails_is_no_output(monkeypatch):
    monkeypatch.setattr(command_line, "_BOTH", "raise SystemExit(3)")
    with pytest.raises(subprocess.CalledProcessError):
        run_cli("config", "show", CFG)


def test_a_module_of_kauldron_cli_as_a_program_fails():
    program = [sys.executable, "-m", "kauldron.cli.main", "config", "show", CFG]
    run = subprocess.run(program, capture_output=True, text=True)
    assert run.returncode and "'list' object has no attribute 'patch'" in run.stderr
