"""What held and what did not, recorded from the chapters' own code: *carry-away*.

``make results`` runs everything here and writes ``recorded/results.json``; the page
reads that, and the tests hold it equal to the run.
"""

import contextlib
import functools
import importlib.metadata
import io
import json
import pathlib
import tempfile
from collections.abc import Callable

import numpy as np
import optax
from kauldron import konfig, kontext

from snippets import (
    experiment,
    install,
    loss_and_metric,
    refs,
    resume,
    sweep,
    trainer,
)
from snippets import konfig as chapter_konfig
from snippets import kontext as chapter_kontext

RECORD = pathlib.Path(__file__).parent / "recorded" / "results.json"

with konfig.imports():
    import optax as noted

# Each result is what a sentence of the page needs: figures, already as text.
Result = dict[str, str | bool]


def konfig_roundtrip() -> Result:
    """Bring an optimizer back from JSON and compare one update."""
    make = [
        ("clip_by_global_norm", 1.0),
        ("scale", 0.5),
        ("scale_by_learning_rate", 0.003),
    ]

    def chain(module):
        return module.chain(*(getattr(module, name)(value) for name, value in make))

    back = konfig.resolve(konfig.ConfigDict(json.loads(chain(noted).to_json())))
    gradient = np.array([3.0, -0.5, 1e-4], np.float32)
    one, other = (chapter_konfig.one_update(o, gradient) for o in (back, chain(optax)))
    return {
        "held": bool((one == other).all()),
        "difference": f"{abs(one - other).max():g}",
    }


def konfig_merge() -> Result:
    """Merge another optimizer into a config."""
    merged = konfig.ConfigDict({"o": noted.adam(learning_rate=0.1)}) | {
        "o": noted.sgd(0.2)
    }
    return {"held": "learning_rate" not in merged.o, "merged": repr(merged.o)}


def refs_follow() -> Result:
    """Shorten a run whose schedule is a reference, and one where it is not."""
    short, frozen = refs.config(1000), refs.config(1000)
    frozen.schedule.decay_steps = 1000
    short.num_train_steps = frozen.num_train_steps = 200
    rates = [refs.rates(cfg, (0.9,))[0] for cfg in (short, frozen)]
    return {
        "held": short.schedule.decay_steps == 200,
        "follows": f"{rates[0]:.3e}",
        "frozen": f"{rates[1]:.3e}",
        "times": f"{rates[1] / rates[0]:.1f}",
    }


def kontext_wrong_path() -> Result:
    """Ask for a path that is not there, and look for the keys in the message."""
    try:
        kontext.get_by_path(chapter_kontext.context(), "batch.nope")
    except KeyError as error:
        return {"held": "label" in str(error)}
    raise AssertionError("a wrong path was found")


def merged_metric() -> Result:
    """Measure eight rows in parts of six and two."""
    rows, metric = loss_and_metric.example_rows(), experiment.WithinTolerance(tol=0.5)
    six, two = (
        metric.get_state(**{name: rows[name][part] for name in rows})
        for part in (slice(6), slice(6, 8))
    )
    merged, whole = six.merge(two).compute(), metric.get_state(**rows).compute()
    return {
        "held": bool(merged == whole),
        "merged": f"{merged:.4f}",
        "mean": f"{(six.compute() + two.compute()) / 2:.4f}",
    }


def training() -> Result:
    """Train for three hundred steps, and read what the model does not return."""
    with tempfile.TemporaryDirectory() as folder:
        run = trainer.watched(
            workdir=pathlib.Path(folder), num_train_steps=299, log_metrics_every=299
        )
        run.train()
        written = trainer.scalars(pathlib.Path(folder) / "train")
    loss, inner = written["losses/log_cosh"], written["metrics/inner"]
    return {
        "held": loss[299] < loss[0] / 100,
        "first": f"{loss[0]:.4f}",
        "last": f"{loss[299]:.4f}",
        "inner": f"{inner[0]:.2f} → {inner[299]:.2f}",
    }


def one_line_variants() -> Result:
    """Count the edits of each variant, and compare the best with the baseline."""
    best, base = (
        sweep.final_loss(sweep.variant(n)) for n in ("hidden 128", "baseline")
    )
    edit = chapter_konfig.diff(sweep.get_config(), sweep.variant("hidden 128"))
    return {"held": len(edit) == 1, "base": f"{base:.4f}", "best": f"{best:.4f}"}


def console_script() -> Result:
    """Call what the installed command `kauldron` calls."""
    from kauldron.cli import main

    (script,) = importlib.metadata.entry_points(
        group="console_scripts", name="kauldron"
    )
    try:
        main()
    except TypeError as error:
        return {"held": False, "script": script.value, "error": str(error)}
    return {"held": True, "script": script.value, "error": ""}


def resumed() -> Result:
    """Stop at 200 and continue to 300, with each kind of pipeline."""
    differences = {}
    steps = None
    for name, data in (
        ("memory", experiment.training_data),
        ("saved", resume.saved_position),
    ):
        with tempfile.TemporaryDirectory() as folder:
            broken, whole = (
                pathlib.Path(folder) / "broken",
                pathlib.Path(folder) / "whole",
            )
            first = resume.run(broken, 200, train_ds=data()).train()[0]
            second = resume.run(broken, 300, train_ds=data()).train()[0]
            unbroken = resume.run(whole, 300, train_ds=data()).train()[0]
            steps = int(first.step)
            differences[name] = resume.largest_difference(
                second.params, unbroken.params
            )
    return {
        "held": differences["memory"] == 0,
        "held with a saved position": differences["saved"] == 0,
        "memory": f"{differences['memory']:.4f}",
        "saved": f"{differences['saved']:g}",
        "steps": str(steps),
    }


def compiled_metric() -> Result:
    """Count the compilations of two metrics' `compute`."""
    run = trainer.watched()
    state = run.init_state()
    aux = run.trainstep.step(state, next(iter(run.train_ds)), return_metrics=True)[1]
    states = aux.finalize().metric_states
    counts = {
        name: trainer.compilations(functools.partial(type(s).compute, s))
        for name, s in states.items()
    }
    return {
        "held": counts["inner"] == 0,
        "norm": str(counts["inner"]),
        "ours": str(counts["near"]),
    }


def etils_fault() -> Result:
    """Ask whether this etils fails under this jax."""
    return {"held": not install.etils_fails(), "etils": install.versions()["etils"]}


RESULTS: dict[str, Callable[[], Result]] = {
    function.__name__: function
    for function in (
        konfig_roundtrip,
        konfig_merge,
        refs_follow,
        kontext_wrong_path,
        merged_metric,
        training,
        one_line_variants,
        console_script,
        resumed,
        compiled_metric,
        etils_fault,
    )
}


def measure() -> dict[str, Result]:
    """Run every result anew; takes about half a minute."""
    with contextlib.redirect_stdout(io.StringIO()):
        return {name: result() for name, result in RESULTS.items()}


def main() -> None:
    """Write the record, and print what changed."""
    found = measure()
    before = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    for name, result in found.items():
        if before.get(name) != result:
            print(f"{name}: {before.get(name)} → {result}")
    RECORD.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
