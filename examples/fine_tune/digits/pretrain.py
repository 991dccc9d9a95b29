"""Config: learn to tell the old digits apart, from many examples."""

from kauldron import konfig

with konfig.imports():
    import functools

    import optax
    from kauldron import kd

    import digits.data as data
    import digits.metrics as metrics
    import digits.model as model


def get_config() -> konfig.ConfigDict:
    """Return the config; the command line wants this name.

    >>> get_config().model.head
    'old_head'
    """
    cfg = kd.train.Trainer()
    cfg.seed = 0
    cfg.num_train_steps = 100
    cfg.train_ds = kd.data.InMemoryPipeline(
        loader=functools.partial(data.digits_of, labels=data.OLD, split="train"),
        batch_size=50,
        shuffle=True,
    )
    cfg.model = model.Classifier(image="batch.image", head="old_head", rank=0)
    cfg.optimizer = optax.adam(learning_rate=0.01)

    keys = {"logits": "preds.logits", "labels": "batch.label"}
    cfg.train_losses = {"xent": kd.losses.SoftmaxCrossEntropyWithIntLabels(**keys)}
    cfg.eval_ds = kd.data.InMemoryPipeline(
        loader=functools.partial(data.digits_of, labels=data.OLD, split="test"),
        batch_size=200,
        num_epochs=1,
        shuffle=False,
    )
    at_the_end = kd.evals.EveryNSteps(cfg.ref.num_train_steps, skip_first=True)
    cfg.evals = {"test": kd.evals.Evaluator(run=at_the_end)}
    cfg.evals["test"].metrics = {
        "accuracy": kd.metrics.Accuracy(**keys),
        "worst": metrics.WorstLabel(**keys),
    }
    cfg.checkpointer = kd.ckpts.Checkpointer(
        save_interval_steps=cfg.ref.num_train_steps, max_to_keep=1
    )
    cfg.log_metrics_every = cfg.ref.num_train_steps
    cfg.profiler = None  # it would go on after so short a run
    return cfg
