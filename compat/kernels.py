"""Runs notebooks in kernels of another environment, which bring nothing of the book's.

Where all that the book imports can be imported, kernels are forks of one process, as
in a build; where something cannot, each is started anew, so that a chapter meets that
error itself and at its own place.
"""

import asyncio
import atexit
import contextlib
import os
import pathlib
from collections.abc import Iterator
from unittest import mock

import nbformat
from jupyter_client.kernelspec import KernelSpec
from nbclient.exceptions import CellTimeoutError, DeadKernelError

from book import leash, warm
from book.running import CELL_TIMEOUT, Client, Fault, IpcKernelManager, with_kernels
from compat.tracebacks import readable

# Seconds that a chapter may take; the longest takes a tenth of it.
TIMEOUT = 1200


@contextlib.contextmanager
def warm_if_it_can(python: pathlib.Path) -> Iterator[bool]:
    """Let kernels within the block be forks, if everything can be imported.

    Args:
      python: the interpreter of the environment.

    Yields:
      whether they can be.
    """

    async def ready() -> None:
        async with warm.warm_process(ours=False):
            pass

    with contextlib.ExitStack() as stack, mock.patch.dict(os.environ):
        os.environ.pop("BOOK_WARM", None)  # another's, of the book's environment
        stack.enter_context(warm.shared_process(str(python)))
        try:
            with_kernels(ready())
        except warm.WarmKernelsFailed:
            print("Not all can be imported, see above: each kernel is started anew.")
            stack.close()
            yield False
        else:
            yield True


async def execute(
    notebook: nbformat.NotebookNode,
    environment: dict[str, str],
    python: pathlib.Path,
    forks: bool = False,
) -> str | None:
    """Run a notebook to its end, errors or not; return what stopped it, if it did.

    Args:
      notebook: its code cells get their outputs.
      environment: variables that its page asks for.
      python: the interpreter of the environment, which has ipykernel.
      forks: whether the kernel may be a fork; see `warm_if_it_can`.
    """
    if forks and not environment:
        with contextlib.suppress(warm.WarmKernelsFailed):
            return await _execute(notebook, environment, python, forks=True)
    return await _execute(notebook, environment, python, forks=False)


async def _execute(
    notebook: nbformat.NotebookNode,
    environment: dict[str, str],
    python: pathlib.Path,
    forks: bool,
) -> str | None:
    async with contextlib.AsyncExitStack() as stack:
        if forks:
            await stack.enter_async_context(warm.warm_process(ours=False))
        folder, compiled = (stack.enter_context(leash.folder()) for _ in range(2))
        client = Client(notebook, _manager(python, forks), folder, allow_errors=True)
        try:
            await asyncio.wait_for(client.run(compiled, environment), TIMEOUT)
        except CellTimeoutError:
            return f"TimeoutError: more than {CELL_TIMEOUT} seconds"
        except TimeoutError:
            return f"TimeoutError: the chapter ran for more than {TIMEOUT} seconds"
        except DeadKernelError:
            return "DeadKernelError: the process ended"
        except Fault as fault:
            return f"Fault: {fault}"
        except RuntimeError as error:
            # So nbclient says that the kernel did not start; it would complain once
            # more at the end of the process.
            atexit.unregister(client._cleanup_kernel)
            if forks:
                raise warm.WarmKernelsFailed(str(error)) from error
            return f"no kernel: {readable(str(error))}"
    return None


def _manager(python: pathlib.Path, forks: bool) -> type[IpcKernelManager]:
    metadata = {"kernel_provisioner": {"provisioner_name": "book-warm"}}

    class Manager(IpcKernelManager):
        """Starts the kernel of another environment."""

        @property
        def kernel_spec(self) -> KernelSpec:
            """Return a specification that no file holds."""
            return KernelSpec(
                argv=[
                    str(python),
                    "-m",
                    "ipykernel_launcher",
                    "-f",
                    "{connection_file}",
                ],
                display_name="tried",
                language="python",
                metadata=metadata if forks else {},
            )

    return Manager
