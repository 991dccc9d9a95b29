"""References in a config: what the chapter *refs* shows."""

import math

import numpy as np
from kauldron import konfig
from matplotlib.figure import Figure

from snippets.showing import BLUE, GREY, ORANGE, Picture

with konfig.imports():
    import optax

MOMENTS = (0.1, 0.5, 0.9)


def config(num_train_steps: int = 1000) -> konfig.ConfigDict:
    """Return a config whose schedule ends when its training ends.

    >>> cfg = config(1000)
    >>> cfg.num_train_steps = 200
    >>> cfg.schedule.decay_steps
    200
    """
    cfg = konfig.ConfigDict({"num_train_steps": num_train_steps})
    cfg.schedule = optax.warmup_cosine_decay_schedule(
        init_value=0.0,
        peak_value=1e-3,
        warmup_steps=100,
        decay_steps=cfg.ref.num_train_steps,
    )
    return cfg


def rates(cfg: konfig.ConfigDict, moments: tuple[float, ...] = MOMENTS) -> np.ndarray:
    """Return the learning rate at some moments of the training that `cfg` describes.

    Args:
      cfg: a config with `num_train_steps` and `schedule`.
      moments: shares of the training, from 0 to 1.

    Returns:
      float64, one rate for each moment.

    >>> [f"{rate:.3e}" for rate in rates(config(1000))]
    ['1.000e-03', '5.868e-04', '3.015e-05']
    """
    schedule = konfig.resolve(cfg).schedule
    return np.array([float(schedule(round(cfg.num_train_steps * m))) for m in moments])


def formula(
    step: float, *, decay_steps: int, warmup_steps: int = 100, peak: float = 1e-3
) -> float:
    """Return the rate that a warm-up from 0 and a cosine decay to 0 should have.

    The decay follows Loshchilov and Hutter, "SGDR" (2017), equation 5, without
    restarts.

    Args:
      step: the training step.
      decay_steps: the step at which the rate is 0 again, warm-up included.
      warmup_steps: the step at which the rate is `peak`.
      peak: the highest rate.

    >>> formula(50, decay_steps=1000)
    0.0005
    """
    if step < warmup_steps:
        return peak * step / warmup_steps
    progress = min((step - warmup_steps) / (decay_steps - warmup_steps), 1.0)
    return peak * (1 + math.cos(math.pi * progress)) / 2


def table(**configs: konfig.ConfigDict) -> str:
    """Return the rates of some configs at 10 %, 50 % and 90 % of training, as text.

    >>> print(table(long=config(1000)))
                   10 %       50 %       90 %
    long      1.000e-03  5.868e-04  3.015e-05
    """
    lines = [f"{'':8}" + "".join(f"{f'{m * 100:.0f} %':>11}" for m in MOMENTS)]
    for name, cfg in configs.items():
        lines.append(f"{name:8}" + "".join(f"{rate:>11.3e}" for rate in rates(cfg)))
    return "\n".join(lines)


def curves(
    long: konfig.ConfigDict, short: konfig.ConfigDict, frozen: konfig.ConfigDict
) -> Picture:
    """Draw three schedules over the share of training that has passed.

    Args:
      long: the run as it was written.
      short: a shorter run whose schedule followed.
      frozen: the same shorter run with the schedule of the long one.
    """
    figure = Figure(figsize=(7, 3.6))
    axes = figure.subplots()
    share = np.linspace(0, 1, 201)
    for cfg, label, colour, style in (
        (long, f"{long.num_train_steps} steps", GREY, "-"),
        (short, f"{short.num_train_steps} steps, schedule follows", BLUE, "-"),
        (frozen, f"{frozen.num_train_steps} steps, schedule frozen", ORANGE, "--"),
    ):
        axes.plot(
            share * 100,
            rates(cfg, tuple(share)),
            style,
            color=colour,
            label=label,
            linewidth=2,
        )
    axes.set_xlabel("share of training (%)")
    axes.set_ylabel("learning rate")
    axes.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return Picture(figure, table(long=long, short=short, frozen=frozen))
