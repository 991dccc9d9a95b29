"""A config file with arguments of its own: the chapter *command-line* reads it."""

import dataclasses

from kauldron import konfig

from snippets import sweep

with konfig.imports():
    import optax


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConfigArgs:
    """What the file decides by; Kauldron looks for a class of this name.

    Attributes:
      optimizer: `"adam"` or `"sgd"`.
      rate: the learning rate.
    """

    optimizer: str = "adam"
    rate: float = 0.01


_DEFAULTS = ConfigArgs()


def get_config(args: ConfigArgs = _DEFAULTS) -> konfig.ConfigDict:
    """Return the experiment of the chapter *sweep*, with another optimizer if asked.

    Raises:
      KeyError: if the optimizer is neither of the two.

    >>> get_config(ConfigArgs(optimizer="sgd", rate=0.1)).optimizer
    <ConfigDict[optax.sgd(learning_rate=0.1)]>
    """
    cfg = sweep.get_config()
    cfg.aux = {"width": 32, "rate": args.rate}
    cfg.model.hidden = cfg.ref.aux.width
    make = {"adam": optax.adam, "sgd": optax.sgd}[args.optimizer]
    cfg.optimizer = make(learning_rate=cfg.ref.aux.rate)
    return cfg
