"""What may be trained of a pretrained classifier: variants of the config."""

from kauldron import konfig, kontext

import digits.finetune as finetune

with konfig.imports():
    from kauldron import kd

# Each variant is some edits: paths, and what stands there instead.
VARIANTS = {
    "head": {},
    "low rank": {
        "model.rank": 4,
        "optimizer.mask.pattern": "(new_head|low_rank)",
    },
    "everything": {"optimizer.mask.pattern": ".*"},
    "from scratch": {
        "optimizer.mask.pattern": ".*",
        "init_transform": kd.ckpts.NoopTransform(),
    },
}


def variant(name: str, *, pretrained: str) -> konfig.ConfigDict:
    """Return the config of a variant.

    Args:
      name: one of `VARIANTS`.
      pretrained: the folder of the pretrained run, as an absolute path.

    >>> variant("low rank", pretrained="/somewhere").model.rank
    4
    """
    cfg = finetune.get_config()
    cfg.init_transform.workdir = pretrained
    for path, value in VARIANTS[name].items():
        kontext.set_by_path(cfg, path, value)
    return cfg
