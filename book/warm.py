"""Kernels that start in a moment: forked from one process that has imported everything.

Importing Kauldron's trainer takes longer than most pages run. So a build starts one
process that imports what the book uses and touches no device; each page's kernel is a
fork of it, with a session, a folder and an environment of its own.

When the build ends, however it ends, the system closes its end of a socket. The
process sees that, kills the kernels with all that they started, and ends.

Several builds may share one process, such as those of ``make live`` and of the tests:
`shared_process` keeps it, and names its address in ``BOOK_WARM``.
"""

import asyncio
import contextlib
import gc
import hashlib
import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import AsyncIterator, Iterator
from typing import NoReturn
from unittest import mock

from jupyter_client.provisioning import LocalProvisioner

from book import leash
from book.environment import installed

# Seconds for the imports, which take fifty on a busy machine without byte code, and for
# a fork to say that it is there.
PATIENCE, MOMENT = 300, 30

# What pages and snippets import, and what costs time. Not `snippets`: a kernel reads
# them as they are when it starts.
MODULES = (
    "ipykernel.kernelapp",
    "IPython.core.magics",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "myst_nb.ext.glue",
    "tensorflow",
    "tensorboard.backend.event_processing.event_accumulator",
    "tensorboard.summary.writer",
    "jax.numpy",
    "jaxtyping",
    "flax.linen",
    "optax",
    "orbax.checkpoint",
    "etils.ecolab.inspects",
    "kauldron.konfig",
    "kauldron.kontext",
    "kauldron.ktyping",
    "kauldron.typing",
    "simple_parsing",
    "tabulate",
    "wadler_lindig",
)
PARTS_OF_KD = ("ckpts", "data", "evals", "losses", "metrics", "nn", "optim", "train")


class WarmKernelsFailed(Exception):
    """The process that forks kernels did not start, or has ended."""


# --- in the build ---------------------------------------------------------------------


class Forked:
    """A kernel, as far as the build sees it: like a `subprocess.Popen`.

    Args:
      pid: of the kernel.
      report: carries the kernel's exit status when it has ended.
    """

    stdin = stdout = stderr = None

    def __init__(self, pid: int, report: socket.socket):
        self.pid = pid
        self.returncode: int | None = None
        self._report = report

    def poll(self, wait: bool = False) -> int | None:
        """Return the exit status, or `None` if the kernel is alive."""
        if self.returncode is None:
            self._report.setblocking(wait)
            try:
                # Nothing at all: the process that forks is dead, and took it along.
                self.returncode = int(self._report.recv(64) or -signal.SIGKILL)
            except BlockingIOError:
                return None
            self._report.close()
        return self.returncode

    def wait(self) -> int:
        """Return the exit status when the kernel has ended."""
        return self.poll(wait=True)

    def send_signal(self, number: int) -> None:
        """Send a signal to the kernel, if it is alive."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the kernel to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the kernel."""
        self.send_signal(signal.SIGKILL)


class WarmProcess:
    """The process that forks kernels, seen from a build.

    Args:
      address: of one that is kept for several builds; by default, one is started.
      ours: whether it has to have imported the packages that are installed here.

    Raises:
      WarmKernelsFailed: if there is none at the address.
    """

    def __init__(self, address: str | None = None, ours: bool = True):
        self._process = None
        self._ours = ours
        if address:
            self._control = socket.socket(socket.AF_UNIX)
            try:
                self._control.connect(address)
            except OSError as error:
                self._control.close()
                raise WarmKernelsFailed(f"{address}: {error}") from error
        else:
            self._control, theirs = socket.socketpair()
            with theirs:
                self._process = start(theirs)

    async def ready(self) -> None:
        """Wait until everything is imported.

        Raises:
          WarmKernelsFailed: if that failed, or takes too long, or was done with other
            packages than are installed now.
        """
        imported = await _answer(self._control, PATIENCE)
        if self._ours and imported != _imported_from():
            raise WarmKernelsFailed("it was started before the packages changed")

    async def fork(
        self, module: str, argv: list[str], cwd: str, env: dict[str, str]
    ) -> Forked:
        """Start a module's `main` in a fork.

        Args:
          module: to run, `book.kernel` for one.
          argv: its arguments.
          cwd: the folder in which it runs.
          env: its environment.

        Raises:
          WarmKernelsFailed: if there is no such process, or it does not answer.
        """
        report, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self._control, [b"k"], [theirs.fileno()])
            request = {"module": module, "argv": argv, "cwd": cwd, "env": env}
            report.sendall(json.dumps(request).encode() + b"\n")
            return Forked(int(await _answer(report, MOMENT)), report)
        except OSError as error:
            report.close()
            raise WarmKernelsFailed("its process has ended") from error

    def close(self) -> None:
        """End the process, and with it all kernels that are still alive."""
        self._control.close()
        if self._process:
            end(self._process)


def start(*sockets: socket.socket, python: str = sys.executable) -> subprocess.Popen:
    """Start a process that forks kernels until its first socket's other end is closed.

    Args:
      *sockets: the one to its owner, and perhaps one to which other builds connect.
      python: the interpreter; of another environment, for `make compat`.
    """
    descriptors = [each.fileno() for each in sockets]
    return subprocess.Popen(
        [python, "-m", "book.warm", *map(str, descriptors)],
        pass_fds=descriptors,
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the build, which then closes its end
    )


def end(process: subprocess.Popen) -> None:
    """Wait for a process whose socket was closed; kill it if it is still importing."""
    try:
        process.wait(timeout=3)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextlib.contextmanager
def shared_process(python: str = sys.executable) -> Iterator[str]:
    """Keep one process for all builds within the block, and return its address.

    Within another such block it is that one's.

    Args:
      python: the interpreter; of another environment, for `make compat`.
    """
    if "BOOK_WARM" in os.environ:
        yield os.environ["BOOK_WARM"]
        return
    # The path of a socket may not be long, so it is not below TMPDIR.
    with leash.folder("/tmp") as folder:
        address = os.path.join(folder, "warm")
        ours, theirs = socket.socketpair()
        with theirs, socket.socket(socket.AF_UNIX) as listener:
            listener.bind(address)
            listener.listen()  # from now on; a build that comes early waits
            process = start(theirs, listener, python=python)
        try:
            with mock.patch.dict(os.environ, BOOK_WARM=address):
                yield address
        finally:
            ours.close()
            end(process)


async def _answer(connection: socket.socket, seconds: float) -> bytes:
    connection.setblocking(False)
    receive = asyncio.get_running_loop().sock_recv(connection, 64)
    try:
        answer = await asyncio.wait_for(receive, seconds)
    except TimeoutError:
        raise WarmKernelsFailed(f"no answer for {seconds} seconds") from None
    except ConnectionError:  # it ended before it took the connection
        answer = b""
    if not answer:
        raise WarmKernelsFailed("its process has ended")
    return answer


def _imported_from() -> bytes:
    """Return a hash of the installed packages: `make live` may outlive some."""
    return hashlib.sha256(repr(installed()).encode()).hexdigest()[:32].encode()


_process: WarmProcess | None = None


@contextlib.asynccontextmanager
async def warm_process(ours: bool = True) -> AsyncIterator[None]:
    """Let kernels be forked within the block.

    Args:
      ours: whether of a process that has imported the packages that are installed here.

    Raises:
      WarmKernelsFailed: if the process could not be started.
    """
    global _process
    _process = WarmProcess(os.environ.get("BOOK_WARM"), ours)
    try:
        await _process.ready()
        yield
    finally:
        _process.close()
        _process = None


def run(module: str, *argv: str) -> int:
    """Run a module's `main` in a fork of the process that is shared.

    Returns:
      its exit status.

    Raises:
      WarmKernelsFailed: if no process is shared, or if it does not answer in time.
    """

    async def run_in_fork() -> int:
        if "BOOK_WARM" not in os.environ:
            raise WarmKernelsFailed("no process is shared")
        process = WarmProcess(os.environ["BOOK_WARM"])
        try:
            await process.ready()
            forked = await process.fork(module, [*argv], os.getcwd(), {**os.environ})
            ended = asyncio.to_thread(forked.wait)
            try:
                return await asyncio.wait_for(ended, PATIENCE)
            except TimeoutError:
                forked.kill()
                raise WarmKernelsFailed(f"{module} did not end") from None
        finally:
            process.close()

    return asyncio.run(run_in_fork())


class WarmProvisioner(LocalProvisioner):
    """Lets jupyter_client start kernels as forks (an entry point in pyproject.toml)."""

    async def launch_kernel(self, cmd: list[str], **kwargs) -> dict:
        """Fork a kernel instead of starting a process anew."""
        if _process is None:
            raise WarmKernelsFailed("there is no process to fork from")
        cwd, env = kwargs.get("cwd") or os.getcwd(), kwargs.get("env") or {}
        argv = cmd[cmd.index("-f") :]  # the connection file, and options
        self.process = await _process.fork("book.kernel", argv, cwd, env)
        self.pid = self.pgid = self.process.pid
        self.cwd = cwd
        return self.connection_info


# --- in the process that forks --------------------------------------------------------


class _Current:
    """Stands for ``sys.stdout`` or ``sys.stderr``, whatever that is at the moment.

    Loggers keep the stream that they find when they are imported, and a kernel has
    others: absl's messages ended on the terminal of the build.
    """

    def __init__(self, name: str):
        self._name = name
        self.buffer = getattr(sys, f"__{name}__").buffer  # which a kernel's have not

    def __getattr__(self, name: str):
        now = getattr(sys, self._name)
        return getattr(getattr(sys, f"__{self._name}__") if now is self else now, name)


def import_modules() -> None:
    """Import what the book uses.

    Raises:
      RuntimeError: if that started a JAX backend, which no fork would survive.
    """
    sys.stdout, sys.stderr = _Current("stdout"), _Current("stderr")
    for name in MODULES:
        importlib.import_module(name)
    kd = importlib.import_module("kauldron.kd")
    for part in PARTS_OF_KD:  # which are imported when something in them is looked at
        for name in dir(getattr(kd, part)):
            with contextlib.suppress(ImportError, AttributeError):
                getattr(getattr(kd, part), name)
    bridge = importlib.import_module("jax._src.xla_bridge")
    if bridge.backends_are_initialized():
        raise RuntimeError("an import has started a JAX backend; kernels cannot fork")


class Server:
    """Forks a kernel for each socket that a build sends.

    Args:
      owner: the connection to whoever started this process.
      listener: where other builds connect, or `None`.
    """

    def __init__(self, owner: socket.socket, listener: socket.socket | None = None):
        self.owner = owner
        self.listener = listener
        # For each kernel, where to report its end, and the build that it belongs to.
        self.kernels: dict[int, tuple[socket.socket, socket.socket]] = {}
        self.selector = selectors.DefaultSelector()
        self.imported_from = _imported_from()

    def serve(self) -> None:
        """Fork until the owner is gone; then end all kernels."""
        ended, wakes = socket.socketpair()
        for each in (ended, wakes):
            each.setblocking(False)
        signal.set_wakeup_fd(wakes.fileno())
        signal.signal(signal.SIGCHLD, lambda *arguments: None)
        self.selector.register(ended, selectors.EVENT_READ, self._report)
        self._welcome(self.owner)
        if self.listener:
            self.selector.register(
                self.listener,
                selectors.EVENT_READ,
                lambda listener: self._welcome(listener.accept()[0]),
            )
        while self.owner.fileno() >= 0:
            for key, _ in self.selector.select():
                if key.fileobj.fileno() >= 0:
                    key.data(key.fileobj)

    def _welcome(self, build: socket.socket) -> None:
        self.selector.register(build, selectors.EVENT_READ, self._fork)
        with contextlib.suppress(OSError):
            build.sendall(self.imported_from)

    def _fork(self, build: socket.socket) -> None:
        try:
            message, files, *_ = socket.recv_fds(build, 1, 1)
        except OSError:
            message = b""
        if not message:
            self._dismiss(build)
            return
        report = socket.socket(fileno=files[0])
        pid = os.fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            for key in list(self.selector.get_map().values()):
                key.fileobj.close()
            for other, _ in self.kernels.values():
                other.close()
            _become(report)
        self.kernels[pid] = report, build
        with contextlib.suppress(OSError):  # the build may be gone
            report.sendall(str(pid).encode())

    def _dismiss(self, build: socket.socket) -> None:
        """Kill what a build has left, because it is gone."""
        self.selector.unregister(build)
        build.close()
        for pid, (_, owner) in self.kernels.items():
            if owner is build or build is self.owner:
                _kill_group(pid)

    def _report(self, ended: socket.socket) -> None:
        """Tell the builds which of their kernels have ended, and how."""
        ended.recv(4096)
        while self.kernels:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            _kill_group(pid)  # what it started and left, a cell's subprocess for one
            report, _ = self.kernels.pop(pid)
            with contextlib.suppress(OSError):
                report.sendall(str(os.waitstatus_to_exitcode(status)).encode())
            report.close()


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _become(report: socket.socket) -> NoReturn:
    """Run what the build asks for in this new process, and end with it."""
    status = 1
    try:
        os.setsid()
        leash.die_with_parent()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        with report, report.makefile() as file:
            request = json.loads(file.readline())
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["env"])
        # JAX has read its variables; this one is another for each page.
        jax = importlib.import_module("jax")
        folder = os.environ.get("JAX_COMPILATION_CACHE_DIR")
        jax.config.update("jax_compilation_cache_dir", folder)
        # As for a kernel that is started anew; another build may be another folder's.
        sys.path[:0] = [p for p in os.environ.get("PYTHONPATH", "").split(":") if p]
        sys.argv = [request["module"], *request["argv"]]
        importlib.import_module(request["module"]).main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        for stream in (sys.__stdout__, sys.__stderr__):
            with contextlib.suppress(Exception):
                stream.flush()
        os._exit(status)


def main() -> None:
    """Import everything, then fork for the build at the other end of the socket."""
    leash.die_with_parent()
    owner, *listeners = (socket.socket(fileno=int(each)) for each in sys.argv[1:])
    # Python warns of each fork beside TensorFlow's threads, which no fork uses.
    warnings.filterwarnings("ignore", category=DeprecationWarning, message=".*fork")
    import_modules()
    # From here on the end of the build is seen at the socket, and the kernels go first.
    leash.die_with_parent(False)
    gc.collect()
    gc.freeze()  # or the first collection in a kernel would copy all that was imported
    Server(owner, *listeners).serve()


if __name__ == "__main__":
    main()
