"""What a cell must not do to the process it runs in, seen from within its kernel.

A kernel has no word for these: the cell ends, the reply is `ok`, and the page is wrong
later, or on another machine. So ours looks after each cell, and adds what it found to
its reply.
"""

import mmap
import os
import threading
import time
import weakref

from ipykernel.iostream import OutStream
from ipykernel.ipkernel import IPythonKernel

# Seconds in which a fork that should not have come back does so. Only cells that fork
# wait for it.
MOMENT = 0.5

FORKED = "a fork of this cell ran on into the rest of the page; end it with os._exit(0)"
PRINTS = (
    "a thread prints that has not ended with its cell, and what stands on the page "
    "depends on the moment; join it in the cell that starts it"
)

# The threads that have printed since this was last looked at.
_printed: set[threading.Thread] = set()


class Stream(OutStream):
    """Standard output, as IPython's kernel has it, which notes what threads print."""

    def write(self, string: str) -> int | None:
        """Write to the output of the cell that the thread belongs to."""
        if self.name == "stdout":
            _printed.add(threading.current_thread())
        return super().write(string)


class Kernel(IPythonKernel):
    """IPython's kernel, which says in its reply what a cell must not do."""

    def __init__(self, **arguments):
        super().__init__(**arguments)
        self._forks = 0
        self._came_back = mmap.mmap(-1, 1)  # shared with forks
        self._own: set[threading.Thread] | None = None
        self._left: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
        os.register_at_fork(after_in_parent=self._count)

    def _count(self) -> None:
        self._forks += 1

    async def do_execute(self, code: str, silent: bool, *arguments, **more) -> dict:
        """Run a cell; the reply has a `fault` if it did what no cell must do."""
        process, forks = os.getpid(), self._forks
        if self._own is None:  # those of the kernel itself
            self._own = set(threading.enumerate())
        _printed.clear()
        reply = await super().do_execute(code, silent, *arguments, **more)
        if os.getpid() != process:
            self._came_back[0] = 1
            os._exit(1)
        if self._forks > forks and self._has_come_back():
            reply["fault"] = FORKED
        if self._one_prints():
            reply["fault"] = PRINTS
        return reply

    def _has_come_back(self) -> bool:
        until = time.monotonic() + MOMENT
        while not self._came_back[0] and time.monotonic() < until:
            time.sleep(0.01)
        return bool(self._came_back[0])

    def _one_prints(self) -> bool:
        """Tell whether a thread has printed that outlives its cell, or has outlived it.

        Threads that print nothing may live on: libraries keep some for later.
        """
        threads = _printed - self._own
        late = any(each.is_alive() or each in self._left for each in threads)
        self._left.update(set(threading.enumerate()) - self._own)
        return late
