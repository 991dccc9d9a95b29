"""What stops a mistake, and what does not: what the chapter *guardrails* shows."""

import contextlib
import dataclasses
import pathlib
import traceback
from collections.abc import Iterator

from kauldron import kd

# The class of the value that stands for a field of the trainer. It has no public name.
Reference = type(kd.train.RngStreams().seed)


def unfilled(part: object) -> dict[str, str]:
    """Return the fields of a part that wait for a trainer, and what they wait for.

    Args:
      part: an instance of a dataclass, such as a pipeline or an evaluator.

    Returns:
      For each such field the reference that it holds, as Kauldron prints it.

    >>> unfilled(kd.train.RngStreams())
    {'seed': "_FakeRootCfg('cfg.seed')"}
    >>> unfilled(kd.train.RngStreams(seed=3))
    {}
    """
    values = {
        field.name: getattr(part, field.name) for field in dataclasses.fields(part)
    }
    return {
        name: repr(value)
        for name, value in values.items()
        if isinstance(value, Reference)
    }


@contextlib.contextmanager
def without_notes() -> Iterator[None]:
    """Take from an error in the body the notes that were added to it.

    JAX adds one about its traceback, but not under IPython; without it, an error
    prints the same in a notebook and in a script.

    >>> with without_notes():
    ...     error = KeyError("nope")
    ...     error.add_note("For simplicity, JAX has removed …")
    ...     raise error
    Traceback (most recent call last):
    KeyError: 'nope'
    """
    try:
        yield
    except Exception as error:
        error.__notes__ = []
        raise


def created_at(error: BaseException) -> str:
    """Return where the config behind an error of `konfig.resolve` was created.

    Python prints it above the error, as the traceback of the error's cause. Here is
    its last frame, as the file's name and the line of code: the whole path differs
    from machine to machine.

    Raises:
      LookupError: if the error has no cause that knows.

    >>> created_at(ValueError("not from konfig"))
    Traceback (most recent call last):
    LookupError: no config was created
    """
    if error.__cause__ is None:
        raise LookupError("no config was created")
    while error.__cause__ is not None:
        error = error.__cause__
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{pathlib.Path(frame.filename).name}: {frame.line}"
