"""The environment in which every cell runs, under the kernel and under pytest.

Set here and nowhere else, so that a page cannot pass in one and fail in the other.
"""

import functools
import json
import os
import pathlib
import sysconfig

ENVIRONMENT = {
    # The book is about the library, not about an accelerator that a reader may lack.
    "JAX_PLATFORMS": "cpu",
    "CUDA_VISIBLE_DEVICES": "",
    # One thread per kernel: sums come out the same on every machine.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    # The order of a set of strings differs from run to run without it, and
    # Kauldron prints some.
    "PYTHONHASHSEED": "0",
    # Whatever is compiled is kept, where there is a folder for it.
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
    # Start-up lines of TensorFlow and CUDA are not part of any answer.
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    # Progress bars would be hundreds of lines in a terminal and, in a notebook, widgets
    # whose scripts come from other sites.
    "TQDM_DISABLE": "1",
    # ipykernel asks for colour, and Python 3.13 would colour what a process that a
    # cell starts says of an error.
    "PYTHON_COLORS": "0",
    # The kernel of this environment, whatever the user has installed elsewhere.
    "JUPYTER_PREFER_ENV_PATH": "1",
    # No configuration of the user's IPython changes what a page shows.
    "JUPYTER_NO_CONFIG": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}

# This very copy of the book, wherever a page's folder is (MyST-NB #457).
ROOT = str(pathlib.Path(__file__).resolve().parent.parent)

# Where pytest hands on what a page asks for, as JSON, to the process that runs it.
ASKED_FOR = "BOOK_ASKED_FOR"

# Variables that would change results or noise and that a user may have set.
REMOVED = (
    "PYTHONSTARTUP",
    "PYTHONWARNINGS",
    "JAX_COMPILATION_CACHE_DIR",
    "JAX_ENABLE_X64",
    "MPLBACKEND",
)


def prepare() -> None:
    """Set the book's environment in this process and for those it starts.

    Call it before JAX or TensorFlow is imported; both read it only once.
    ``PYTHONHASHSEED`` takes effect in the kernels, which are new processes.
    """
    asked_for = json.loads(os.environ.get(ASKED_FOR, "{}"))
    os.environ.update(ENVIRONMENT | asked_for, PYTHONPATH=ROOT)
    for name in REMOVED:
        os.environ.pop(name, None)


@functools.cache
def installed() -> list[str]:
    """Return names and versions of all packages; a lock may not have been followed.

    From the names of their folders: each build asks, and to read what is in them takes
    a third of a second.
    """
    packages = pathlib.Path(sysconfig.get_path("purelib")).glob("*.dist-info")
    return sorted(path.stem for path in packages)
