"""Ties a process to the one that started it."""

import ctypes
import signal
import sys


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
