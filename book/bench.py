"""Measures what a build cannot print without changing from day to day.

    make bench         # writes imports, steps and shape-checks to snippets/recorded/

The result is committed with its date, machine and versions; pages show it as
recorded.
"""

import datetime
import functools
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

from book.environment import prepare
from book.what_ran import versions

RECORDED = pathlib.Path(__file__).resolve().parent.parent / "snippets" / "recorded"
REPEATS = 5

IMPORTS = {
    "numpy": "import numpy",
    "jax": "import jax",
    "kauldron.konfig": "from kauldron import konfig",
    "tensorflow": "import tensorflow",
    "kauldron.kd, unused": "from kauldron import kd",
    "kauldron.kd, trainer used": "from kauldron import kd; kd.train.Trainer",
}


def machine() -> str:
    """Return processor, number of cores and system, as ``name, n cores, system``."""
    name = platform.processor() or platform.machine()
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                name = line.split(":", 1)[1].strip()
                break
    return f"{name}, {os.cpu_count()} cores, {platform.system()}"


def seconds(code: str) -> float:
    """Return the median time, in seconds, of a new Python that runs `code`.

    The time of an empty Python is not taken off; it is a few hundredths. One run
    before goes uncounted, since it writes the byte code.
    """
    times = []
    for _ in range(REPEATS + 1):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    return statistics.median(times[1:])


def record(name: str, seconds: dict[str, float], **more: object) -> None:
    """Write a measurement, with what a reader needs to judge it.

    Args:
      name: of the record, without its ending.
      seconds: by what took them.
      more: what else belongs to it, or replaces what every record holds.
    """
    result = {
        "measured": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": machine(),
        "versions": versions(),
        "seconds": seconds,
    }
    result |= more
    text = json.dumps(result, indent=1) + "\n"
    (RECORDED / f"{name}.json").write_text(text, "utf-8")
    print(name)
    for what, time_taken in seconds.items():
        print(f"  {time_taken:9.6f} s  {what}")


def main() -> None:
    """Measure everything and write the records."""
    prepare()
    record("imports", {name: round(seconds(code), 2) for name, code in IMPORTS.items()})

    # Only now, when the environment is set and no import is timed any more.
    import jax.numpy as jnp

    from snippets.ktyping import projection_variants
    from snippets.trainer import median_seconds, step_variants

    x, w = jnp.zeros((2, 16, 8)), jnp.zeros((8, 32))
    checks = {
        name: functools.partial(lambda call: call(x, w).block_until_ready(), call)
        for name, call in projection_variants().items()
    }
    for name, calls in {"steps": step_variants(), "shape-checks": checks}.items():
        taken = {what: median_seconds(call) for what, call in calls.items()}
        record(name, {what: round(seconds, 7) for what, seconds in taken.items()})


if __name__ == "__main__":
    main()
