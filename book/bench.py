"""Measures what a build cannot print without changing from day to day.

    make bench         # writes snippets/recorded/imports.json

The result is committed with its date, machine and versions; pages show it as
recorded.
"""

import datetime
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


def main() -> None:
    """Measure the imports and write the record."""
    prepare()
    found = {}
    for name, code in IMPORTS.items():
        found[name] = round(seconds(code), 2)
        print(f"{found[name]:6.2f} s  {name}")
    record = {
        "measured": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": machine(),
        "versions": versions(),
        "seconds": found,
    }
    (RECORDED / "imports.json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
