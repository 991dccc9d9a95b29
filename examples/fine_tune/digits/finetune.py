"""Config: the new digits from few examples, on an encoder that knows the old ones."""

from kauldron import konfig

import digits.pretrain as pretrain

with konfig.imports():
    from kauldron import kd

    import digits.data as data


def get_config() -> konfig.ConfigDict:
    """Return the config; where the pretrained run is has to be said.

    >>> get_config().train_ds.loader.limit
    50
    """
    cfg = pretrain.get_config()
    cfg.train_ds.loader.labels = data.NEW
    cfg.train_ds.loader.limit = 50
    cfg.train_ds.batch_size = 25
    cfg.eval_ds.loader.labels = data.NEW
    cfg.model.head = "new_head"
    cfg.optimizer = kd.optim.partial_updates(
        cfg.optimizer, mask=kd.optim.select(pattern="new_head")
    )
    cfg.init_transform = kd.ckpts.SimpleCheckpointLoader(
        workdir=konfig.placeholder(str)
    )
    return cfg
