"""Ties processes and folders to the process that started or made them."""

import ctypes
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

import psutil

# What a folder's name begins with: nobody else's may be taken for ours.
NAME = "kauldron-executed"

# Seconds for which an orphan is left alone, a day: another container may share /tmp,
# and its processes are not to be seen.
SPARED = 86_400


def die_with_parent(wanted: bool = True) -> None:
    """Ask Linux to kill this process when its parent dies, or no longer to.

    A process that is busy in native code notices nothing by itself. Elsewhere this
    does nothing.

    Args:
      wanted: whether it should.
    """
    if sys.platform == "linux":
        set_parent_death_signal = 1  # PR_SET_PDEATHSIG of <sys/prctl.h>
        number = signal.SIGKILL if wanted else 0
        ctypes.CDLL(None).prctl(set_parent_death_signal, number)


def folder(parent: str | None = None) -> tempfile.TemporaryDirectory:
    """Make a temporary folder that names its maker, for `remove_orphans`.

    Args:
      parent: where; by default in TMPDIR.
    """
    return tempfile.TemporaryDirectory(prefix=f"{NAME}-{os.getpid()}-", dir=parent)


def remove_orphans(parents: tuple[str, ...] = ("/tmp", tempfile.gettempdir())) -> None:
    """Remove the folders of builds that were killed."""
    for parent in set(parents):
        for path in pathlib.Path(parent).glob(f"{NAME}-*-*"):
            pid = path.name.removeprefix(f"{NAME}-").split("-")[0]
            if not pid.isdecimal() or psutil.pid_exists(int(pid)):
                continue
            try:
                if time.time() - path.stat().st_mtime > SPARED:
                    shutil.rmtree(path, ignore_errors=True)
            except OSError:  # another build was quicker
                continue
