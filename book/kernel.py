"""Starts the kernel of a page: IPython's, bounded, and with one function of zmq mended.

`konfig.imports()` replaces ``__import__`` for the whole process, so the kernel's
output thread gets stand-ins too: zmq says ``from zmq import ZMQError`` each time it
looks at a socket. Then a cell's output ends in a traceback of zmq's, now and then, or
the cell hangs when it prints inside the block.
"""

import builtins
import os
import resource
import sys
import types

from ipykernel import kernelapp
from zmq.sugar.attrsettr import AttributeSetter

from book.faults import Kernel

# GB that a page may take, so that one which fills the memory ends alone, and not by the
# system's choice. The largest page of this book was seen to take 3.
MEMORY = 8


def with_own_builtins(function: types.FunctionType) -> types.FunctionType:
    """Return a copy of a function that keeps today's builtins, ``__import__`` too.

    >>> from unittest import mock
    >>> def imports():
    ...     import json
    ...     return json.__name__
    >>> kept = with_own_builtins(imports)
    >>> with mock.patch("builtins.__import__", None):
    ...     name = kept()
    >>> name
    'json'
    """
    own = function.__globals__ | {"__builtins__": dict(vars(builtins))}
    return types.FunctionType(function.__code__, own, function.__name__)


def bound_memory() -> None:
    """Let allocations fail beyond ``BOOK_MEMORY``, or `MEMORY`; only Linux does it."""
    size = int(float(os.environ.get("BOOK_MEMORY") or MEMORY) * 1e9)
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        size = min(size, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (size, hard))


def main() -> None:
    """Run a kernel until it is told to stop."""
    bound_memory()
    AttributeSetter.__getattr__ = with_own_builtins(AttributeSetter.__getattr__)
    # A page's folder holds no modules of ours.
    sys.path[:] = [path for path in sys.path if path not in ("", os.getcwd())]
    # Which ipykernel reads when it is imported, and a fork's is another.
    sys.argv.append(f"--IPKernelApp.parent_handle={os.getppid()}")
    kernelapp.launch_new_instance(
        kernel_class=Kernel, outstream_class="book.faults.Stream"
    )


if __name__ == "__main__":
    main()
