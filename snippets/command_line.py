"""Flags that become a config, and ways to look at it: the chapter *command-line*."""

import contextlib
import io
import re
import subprocess
import sys
from collections.abc import Callable
from unittest import mock

from absl import flags
from kauldron import konfig
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from snippets import with_args
from snippets.showing import BLUE, GREEN, GREY, ORANGE, Picture

# The flag that names the config file of this chapter.
CFG = f"--cfg={with_args.__file__}"


def cfg_flag(*arguments: str) -> flags.FlagHolder:
    """Parse a command line as `kauldron.main` does, without starting a process.

    Args:
      *arguments: such as ``--cfg=config.py`` and ``--cfg.seed=3``.

    Returns:
      The flag; its `value` is the config.

    Raises:
      flags.Error: if a flag cannot be parsed.
    """
    values, argv = flags.FlagValues(), ["program", *arguments]
    _forget_the_file()
    try:
        # The flag looks for its overrides in sys.argv itself.
        with mock.patch.object(sys, "argv", argv):
            holder = konfig.DEFINE_config_file("cfg", flag_values=values)
            values(argv)
    finally:
        _forget_the_file()
    return holder


def _forget_the_file() -> None:
    # A program reads one config file. A second one would be run in the module of the
    # first, where that one's `ConfigArgs` still stands.
    sys.modules.pop("cfg_config", None)


def read(*arguments: str) -> konfig.ConfigDict:
    """Return the config that a command line describes.

    Args:
      *arguments: as for `cfg_flag`.

    >>> read(CFG, "--cfg.aux.width=7").model.hidden
    7
    """
    return cfg_flag(*arguments).value


def fate(*arguments: str) -> str:
    """Tell how far a command line comes, and what stops it.

    Args:
      *arguments: as for `cfg_flag`; the working directory is given already.

    >>> fate(CFG, "--cfg.aux.width=wide")
    'built: TypeError'
    """
    stage = "parsed"
    try:
        flag = cfg_flag(*arguments, "--cfg.workdir=run")
        stage = "built"
        cfg = flag.value
        stage = "resolved"
        konfig.resolve(cfg)
    except Exception as error:
        return f"{stage}: {type(error).__name__}"
    return "accepted"


def said(call: Callable[[], object]) -> str:
    """Call something and return what it prints, without times and addresses.

    >>> said(lambda: print("done (0.3 sec)"))
    'done (… sec)'
    """
    with contextlib.redirect_stdout(io.StringIO()) as out:
        call()
    text = re.sub(r"\(\d+\.\d sec\)", "(… sec)", out.getvalue())
    return re.sub(r"0x[0-9a-f]+", "0x…", text).rstrip()


# What `python -m kauldron.cli.main` runs, and then the mended program. Both in one
# process, since importing Kauldron takes most of the time.
_BOTH = """
import runpy
from absl import flags
from snippets import kauldron_cli
try:
    runpy.run_module("kauldron.cli.main", run_name="__main__", alter_sys=True)
except AttributeError as error:
    print(f"{type(error).__name__}: {error}")
print("---")
defined = [name for name in flags.FLAGS if name.split(".")[0] == "cfg"]
flags.FLAGS.remove_flag_values(defined)
kauldron_cli.main()
"""


def run_cli(*arguments: str) -> tuple[str, str]:
    """Run Kauldron's program for configs in a process of its own.

    Args:
      *arguments: a command and flags, such as ``config show --cfg=…``.

    Returns:
      What it prints as it was released, and what it prints when it is started as in
      `snippets.kauldron_cli`; paths of this machine are left out.

    Raises:
      subprocess.CalledProcessError: if the mended program fails too.
    """
    program = [sys.executable, "-c", _BOTH, *arguments]
    run = subprocess.run(program, check=True, capture_output=True, text=True)
    text = re.sub(r"[^\s']*/kauldron_\w+", "…/kauldron_…", run.stdout)
    text = text.replace(with_args.__file__, "with_args.py")
    released, _, mended = text.partition("---\n")
    return released.rstrip(), mended.rstrip()


class Splitter(konfig.WithRef):
    """Splits text: a part of a library that others configure.

    Args:
      at: where to split.
      lower: whether to make all letters small.
    """

    def __init__(self, at: str = " ", lower: bool = False):
        self.at = at
        self.lower = lower

    def __call__(self, text: str) -> list[str]:
        """Return the pieces.

        >>> Splitter(",")("a,b")
        ['a', 'b']
        """
        return (text.lower() if self.lower else text).split(self.at)

    def __konfig_export__(self) -> dict[str, object]:
        """Return the call that makes this object, for `konfig.export`."""
        name = konfig.export_qualname(self)
        return {"__qualname__": name, "at": self.at, "lower": self.lower}


# Each station: what it is, what happens there, and what it refuses.
_STATIONS = (
    ("parsed", "one value a flag,\nof no type yet", "unknown flags", GREY),
    (
        "built",
        "get_config(args), then\neach value at its path",
        "wrong paths,\nwrong types",
        BLUE,
    ),
    ("resolved", "the calls are made", "wrong names\nof arguments", GREEN),
)


def stations() -> Picture:
    """Draw where a flag passes on its way to an object, and what is refused where."""
    figure = Figure(figsize=(8.4, 2.7))
    axes = figure.subplots()
    for place, (name, what, refused, colour) in enumerate(_STATIONS):
        x = 3.1 * place
        axes.add_patch(
            FancyBboxPatch(
                (x, 1.0),
                2.3,
                1.0,
                boxstyle="round,pad=0.05",
                facecolor="white",
                edgecolor=colour,
                linewidth=2,
            )
        )
        middle = x + 1.15
        axes.text(middle, 1.8, name, ha="center", va="center", weight="bold")
        axes.text(middle, 1.32, what, ha="center", va="center", fontsize=9)
        down = {"arrowstyle": "-|>", "color": ORANGE, "linewidth": 1.3}
        axes.annotate("", (middle, 0.45), (middle, 0.93), arrowprops=down)
        axes.text(middle, 0.38, refused, ha="center", va="top", color=ORANGE)
        if place:
            along = {"arrowstyle": "-|>", "color": "black", "linewidth": 1.3}
            axes.annotate("", (x - 0.08, 1.5), (x - 0.72, 1.5), arrowprops=along)
    axes.set_xlim(-0.15, 8.65)
    axes.set_ylim(-0.2, 2.15)
    axes.axis("off")
    lines = [f"{name} refuses {' '.join(no.split())}" for name, _, no, _ in _STATIONS]
    return Picture(figure, "\n".join(lines))
