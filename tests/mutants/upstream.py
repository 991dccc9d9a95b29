"""Lies about what lies below the book: changes that a release of upstream could bring.

Each is a small edit of an installed module, told to Python before it imports that
module and never written to the environment. A page that states what was changed has to
turn red.
"""

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class Patch:
    """One edit of one installed module.

    Attributes:
      module: the module, by its dotted name.
      before: a text that stands exactly once in the source of the module.
      after: what stands there instead.
      page: the page of the book that states what is no longer true.
      why: what the page states, and what happens instead.
    """

    module: str
    before: str
    after: str
    page: str
    why: str = ""


# --- the hook -------------------------------------------------------------------------

_HOOK = '''"""Changes one module when it is imported: tests/mutants/upstream.py."""

import importlib.machinery
import sys

MODULE, BEFORE, AFTER = {module!r}, {before!r}, {after!r}


class Loader(importlib.machinery.SourceFileLoader):
    """Compiles the changed source; reads and writes no byte code."""

    def get_code(self, fullname):
        source = self.get_source(fullname)
        found = source.count(BEFORE)
        if found != 1:
            raise RuntimeError(
                f"the patch of {{MODULE}} fits {{found}} times, not once: {{BEFORE!r}}"
            )
        changed = source.replace(BEFORE, AFTER)
        return compile(changed, self.path, "exec", dont_inherit=True)


class Finder:
    """Finds the module as usual, and has it loaded by `Loader`."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != MODULE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None:
            spec.loader = Loader(name, spec.origin)
        return spec


sys.meta_path.insert(0, Finder)
'''


def hook(patch: Patch) -> str:
    """Return the source of a `sitecustomize.py` that applies a patch.

    Python imports a module of that name when it starts. In a folder on `PYTHONPATH` it
    is at work in pytest, in kernels, and in every process that these start.

    >>> patch = Patch(module="this", before="Zen", after="Art", page="konfig")
    >>> "MODULE, BEFORE, AFTER = 'this', 'Zen', 'Art'" in hook(patch)
    True
    """
    return _HOOK.format(module=patch.module, before=patch.before, after=patch.after)


# --- the patches ----------------------------------------------------------------------

PATCHES: tuple[Patch, ...] = (
    # An experiment is a dict.
    Patch(
        module="kauldron.konfig.fake_import_utils",
        before="separator = ':'",
        after="separator = '.'",
        page="konfig",
        why="names are written `module:name`; now `module.name`",
    ),
    Patch(
        module="kauldron.konfig.utils",
        before="        json_['__id__'] = next(self._counter)",
        after="        pass",
        page="konfig",
        why="JSON marks a part that stands twice; now it is two after reading it back",
    ),
    Patch(
        module="kauldron.konfig.configdict_proxy",
        before="def resolve(cfg, *, freeze=True):",
        after="def resolve(cfg, *, freeze=False):",
        page="konfig",
        why="containers come back frozen; now only on demand",
    ),
    Patch(
        module="kauldron.konfig.configdict_base",
        before="    new.update(other)\n",
        after="    for key, value in other.items():\n      new[key] = value\n",
        page="konfig",
        why="`|` merges at every depth; now only at the first",
    ),
    Patch(
        module="kauldron.konfig.configdict_base",
        before="return f'<ConfigDict[{inner_repr}]>'",
        after="return f'ConfigDict({inner_repr})'",
        page="konfig",
        why="the page shows how a config prints",
    ),
    Patch(
        module="ml_collections.config_dict.config_dict",
        before="'{} is of original type {} and cannot be casted to type {}'",
        after="'{} is of type {} and cannot be casted to type {}'",
        page="konfig",
        why='the page explains what "original type" means in this message',
    ),
    # Change one number, everything follows.
    Patch(
        module="optax.schedules._schedule",
        before="          decay_steps=decay_steps - warmup_steps,\n"
        "          alpha=alpha,\n",
        after="          decay_steps=decay_steps,\n          alpha=alpha,\n",
        page="refs",
        why="the schedule ends at the end of training; now later by the warm-up",
    ),
    Patch(
        module="kauldron.konfig.utils",
        before="  return placeholder(field_type)\n",
        after="  return placeholder(field_type, required=True)\n",
        page="refs",
        why="`konfig.required` lets a field stay empty; now it does as its name says",
    ),
    Patch(
        module="kauldron.konfig.ref_utils",
        before="      default=copy.deepcopy(self._value, memo),",
        after="      default=self._value,",
        page="refs",
        why="references of a copy follow the copy; now they follow the original",
    ),
    # Parts joined by strings.
    Patch(
        module="kauldron.kontext.paths",
        before="    case str() if hasattr(obj, path):\n",
        after="    case str() if not isinstance(obj, dict) and hasattr(obj, path):\n",
        page="kontext",
        why="a path `items` finds the method of a dict; now the key",
    ),
    Patch(
        module="kauldron.kontext.paths",
        before="      err_spec: bool = False,\n",
        after="      err_spec: bool = True,\n",
        page="kontext",
        why="the message about a wrong path does not list the keys; now it does",
    ),
    Patch(
        module="kauldron.kontext.glob_paths",
        before="  return path.set_in(obj, value)\n",
        after="  modified = path.set_in(obj, value)\n"
        "  if not modified:\n"
        '    raise KeyError(f"{path} fits nothing.")\n'
        "  return modified\n",
        page="kontext",
        why="a pattern that fits nothing changes nothing; now it is an error",
    ),
    # Axes that have names.
    Patch(
        module="kauldron.typing.type_check",
        before="      _check_return_type(fn, retval, bound_args, annotations, memo)\n",
        after="",
        page="ktyping",
        why="the type after the arrow is checked; now it is a comment",
    ),
    Patch(
        module="kauldron.ktyping.config",
        before="    yield self\n    remove_config_override(cfg_id)\n",
        after="    try:\n"
        "      yield self\n"
        "    finally:\n"
        "      remove_config_override(cfg_id)\n",
        page="ktyping",
        why="after an error inside `kt.Config` checking stays off; now it comes back",
    ),
    Patch(
        module="kauldron.ktyping.errors",
        before="f\"Dimension '{name}' is ambiguous within the current scope.",
        after="f\"Dimension '{name}' has several values in the current scope.",
        page="ktyping",
        why="a section is titled with this message, for those who search for it",
    ),
    Patch(
        module="etils.enp.array_spec",
        before="    return repr(array_type)\n",
        after="    return f'{self.dtype}{list(self.shape)}'\n",
        page="ktyping",
        why="the page explains how to read `f32[5 32]`",
    ),
    # A loss and a metric in one method each.
    Patch(
        module="kauldron.losses.base",
        before='"values"] = "mask"\n\n  State',
        after='"values"] = "values"\n\n  State',
        page="loss-and-metric",
        why="by default the sum is divided by how many values count; now by all",
    ),
    Patch(
        module="kauldron.losses.base",
        before="    return self.value / jnp.clip(self.count, min=1e-8)\n",
        after="    return self.value / self.count\n",
        page="loss-and-metric",
        why="a mask of zeros gives zero; now it is not a number",
    ),
    Patch(
        module="kauldron.metrics.auto_state",
        before="reduce_op=jnp.add)",
        after="reduce_op=lambda a, b: (a + b) / 2)",
        page="loss-and-metric",
        why="fields of a sum are summed on merging; now they are averaged",
    ),
    Patch(
        module="kauldron.checkpoints.checkpointer",
        before="  if isinstance(obj, np.ndarray):\n",
        after="  if isinstance(obj, (np.ndarray, np.generic)):\n",
        page="loss-and-metric",
        why="a NumPy scalar breaks the first checkpoint; now it is taken",
    ),
    # The training loop.
    Patch(
        module="kauldron.train.train_step",
        before='          "checkify_error_categories",\n'
        "      ),\n"
        '      donate_argnames=("state",),\n',
        after='          "checkify_error_categories",\n      ),\n',
        page="trainer",
        why="a state can be used once; now again",
    ),
    Patch(
        module="kauldron.train.train_loop",
        before="      log_metrics = i % trainer.log_metrics_every == 0\n",
        after="      log_metrics = (i + 1) % trainer.log_metrics_every == 0\n",
        page="trainer",
        why="step 0 and every n-th after it are written; now the steps before those",
    ),
    Patch(
        module="kauldron.metrics.base_state",
        before="    return jax.lax.cond(\n"
        "        self.count == 0,\n"
        "        lambda: self.total * 0.0,\n"
        "        lambda: self.total / self.count,\n"
        "    )\n",
        after="    return np.asarray(self.total) / max(np.asarray(self.count), 1)\n",
        page="trainer",
        why="each `compute` of `Norm` compiles anew; now none does",
    ),
    # A variant is one line.
    Patch(
        module="kauldron.konfig.configdict_proxy",
        before="CONST_KEY = '__const__'\n",
        after="CONST_KEY = '__ref__'\n",
        page="sweep",
        why="a class that is not called is written as `__const__`",
    ),
    Patch(
        module="kauldron.utils.constants",
        before="CONFIG_FILENAME = 'config.json'\n",
        after="CONFIG_FILENAME = 'konfig.json'\n",
        page="sweep",
        why="a run saves its config as `config.json`",
    ),
    # Which mistakes are stopped.
    Patch(
        module="kauldron.utils.config_util",
        before="    return f'{type(self).__name__}({qualname!r})'\n",
        after="    return f'ROOT_CFG_REF{qualname.removeprefix(\"cfg\")}'\n",
        page="guardrails",
        why="`_FakeRootCfg` is the word to look for in a message",
    ),
    Patch(
        module="kauldron.train.trainer_lib",
        before="    object.__setattr__(self, 'raw_cfg', cfg)\n",
        after="    import copy\n"
        "    object.__setattr__(self, 'raw_cfg', copy.deepcopy(cfg))\n",
        page="guardrails",
        why="`raw_cfg` is the very config that was resolved; now a copy",
    ),
    Patch(
        module="kauldron.train.setup_utils",
        before='"--workdir must be set when running on XManager."',
        after='"`trainer.workdir` must be set."',
        page="guardrails",
        why="the page quotes the message, and says that it speaks of XManager",
    ),
    Patch(
        module="kauldron.train.train_loop",
        before="        num_train_steps=trainer.num_train_steps,\n",
        after="        num_train_steps=(\n"
        "            len(trainer.train_ds) - 1\n"
        "            if trainer.num_train_steps is None\n"
        "            else trainer.num_train_steps\n"
        "        ),\n",
        page="guardrails",
        why="without a number of steps training is refused; now it takes all the data",
    ),
    # Evaluate, save, pick up again.
    Patch(
        module="kauldron.train.train_loop",
        before="  total_steps = num_train_steps + 1\n",
        after="  total_steps = num_train_steps\n",
        page="resume",
        why="two hundred steps are two hundred and one; now two hundred",
    ),
    Patch(
        module="kauldron.train.train_loop",
        before="  initial_step = 0 if latest_step is None else latest_step\n",
        after="  initial_step = 0 if latest_step is None else latest_step + 1\n",
        page="resume",
        why="a resumed run takes the step of its checkpoint again; now it skips it",
    ),
    Patch(
        module="kauldron.checkpoints.checkpointer",
        before="      noop_if_missing: bool = False,\n"
        "      donate: bool = True,\n"
        '  ) -> _StateT:\n    """Restore state.\n',
        after="      noop_if_missing: bool = False,\n"
        "      donate: bool = False,\n"
        '  ) -> _StateT:\n    """Restore state.\n',
        page="resume",
        why="by default `restore` frees the state that it is given; now it keeps it",
    ),
    Patch(
        module="kauldron.evals.run_strategies",
        before="  skip_first: bool = False\n",
        after="  skip_first: bool = True\n",
        page="resume",
        why="an evaluation also runs at step 0; now only if asked",
    ),
    Patch(
        module="kauldron.data.iterators.pygrain_handler",
        before="    return PyGrainIterator(source=self.source, iter=value)\n",
        after="    return PyGrainIterator(\n"
        "        source=self.source, iter=iter(self.source._root_ds)\n"
        "    )\n",
        page="resume",
        why="a PyGrain pipeline continues where it was; now from its beginning",
    ),
    Patch(
        module="orbax.checkpoint._src.serialization.tensorstore_utils",
        before="    raise ValueError("
        "f'Checkpoint path should be absolute. Got {directory}')\n",
        after="    directory = os.path.abspath(directory)\n",
        page="resume",
        why="Orbax refuses a relative path; now it makes it absolute",
    ),
    # Four ideas.
    Patch(
        module="kauldron.train.auxiliaries",
        before='          loss_values, prefix="losses", separator="/"\n',
        after='          loss_values, prefix="loss", separator="/"\n',
        page="ideas",
        why="a loss is found under `losses/`",
    ),
    Patch(
        module="kauldron.ktyping.shape_spec",
        before="      _maybe_equal(s, c) or (s == 1 and broadcastable)\n",
        after="      _maybe_equal(s, c) or s == 1\n",
        page="ideas",
        why="arguments that name an axis agree on its length; now one fits any",
    ),
    # Install.
    Patch(
        module="kauldron.kd",
        before="# Import contrib at the end as they can use all\n",
        after="import kauldron.train\n",
        page="install",
        why="`kd` imports the trainer when it is first used; now at once",
    ),
    Patch(
        module="etils.enp.array_spec",
        before="  return lazy.has_jax and lazy.jax.dtypes.issubdtype(\n"
        "      dtype, lazy.jax.dtypes.prng_key\n"
        "  )\n",
        after="  return lazy.has_jax and isinstance(dtype, lazy.jax._src.prng.KeyTy)\n",
        page="install",
        why="etils describes an array without jax's private parts; now not",
    ),
    # Errors.
    Patch(
        module="kauldron.konfig.fake_import_utils",
        before="Relative import statements not supported",
        after="Relative imports not supported",
        page="errors",
        why="the page quotes the message; now it has other words",
    ),
    Patch(
        module="kauldron.evals.evaluators",
        before="Eval dataset missing",
        after="Evaluation dataset missing",
        page="errors",
        why="the page quotes the message; now it has other words",
    ),
    # Carry away.
    Patch(
        module="kauldron.kontext.annotate",
        before="from kauldron.kontext import type_utils\n",
        after="from kauldron.kontext import type_utils\nimport kauldron.typing\n",
        page="carry-away",
        why="`kontext` can be imported without TensorFlow; now it brings it along",
    ),
    # In depth.
    Patch(
        module="kauldron.data.in_memory",
        before="all_indices = all_indices[:-remainder]",
        after="all_indices = all_indices[remainder:]",
        page="data",
        why="the last rows of an epoch are dropped, not the first",
    ),
    Patch(
        module="kauldron.data.py.base",
        before="  num_workers: int = 16\n",
        after="  num_workers: int = 8\n",
        page="data",
        why="the page says how many workers there are by default",
    ),
    Patch(
        module="kauldron.losses.simple",
        before="l2_term = 0.5 * jnp.square(preds - targets)",
        after="l2_term = jnp.square(preds - targets)",
        page="losses",
        why="Huber has the half that L2 has not",
    ),
    Patch(
        module="kauldron.losses.simple",
        before="return jnp.abs(values)",
        after="return values",
        page="losses",
        why="`AbsoluteValue` takes absolute values",
    ),
    Patch(
        module="kauldron.metrics.stats",
        before="axis: None | int | tuple[int, int] = -1",
        after="axis: None | int | tuple[int, int] = 0",
        page="metrics",
        why="by default the norm is taken along the last axis",
    ),
    Patch(
        module="kauldron.metrics.stats",
        before="return self.total ** (1 / (parent.ord or 2))",
        after="return self.total",
        page="metrics",
        why="norms that are concatenated are the norm of all numbers together",
    ),
    Patch(
        module="kauldron.train.train_loop",
        before="log_metrics = i % trainer.log_metrics_every == 0",
        after="log_metrics = i % trainer.log_metrics_every == 1",
        page="train-loop",
        why="the first step is logged, and every so many after it",
    ),
    Patch(
        module="kauldron.train.rngs_lib",
        before="  eval: bool = False",
        after="  eval: bool = True",
        page="train-loop",
        why="evaluations get no random stream unless it says so",
    ),
    Patch(
        module="kauldron.evals.run_strategies",
        before="return step == self.step",
        after="return step == self.step + 1",
        page="evals",
        why="`Once` runs at its step",
    ),
    Patch(
        module="kauldron.evals.run_strategies",
        before="if step == 0 and self.skip_first:",
        after="if step == 0:",
        page="evals",
        why="an evaluation also runs at the first step, unless told otherwise",
    ),
    Patch(
        module="kauldron.checkpoints.checkpointer",
        before="max_to_keep: Optional[int] = 3",
        after="max_to_keep: Optional[int] = 4",
        page="checkpoints",
        why="by default the newest three are kept",
    ),
    Patch(
        module="kauldron.checkpoints.partial_loader",
        before="load_opt_state: bool = False",
        after="load_opt_state: bool = True",
        page="checkpoints",
        why="the optimizer's state is loaded on demand only",
    ),
    Patch(
        module="kauldron.optim.transform",
        before="return grad + weight_decay * (params - init_params)",
        after="return grad - weight_decay * (params - init_params)",
        page="optimizers",
        why="parameters are pulled to where they began, not away from there",
    ),
    Patch(
        module="kauldron.optim._freeze",
        before="optax.set_to_zero()",
        after="optax.identity()",
        page="optimizers",
        why="what is not chosen gets no update",
    ),
    Patch(
        module="kauldron.utils.sharding_utils",
        before="min_size_to_shard_mb: int = 4",
        after="min_size_to_shard_mb: int = 0",
        page="sharding",
        why="a small model is not cut by default",
    ),
    Patch(
        module="kauldron.utils.sharding_utils",
        before="idx = np.argsort(x.shape)[::-1]",
        after="idx = np.argsort(x.shape)",
        page="sharding",
        why="the longest axis that divides is cut",
    ),
    Patch(
        module="kauldron.konfig.py_flag_parser",
        before="return [a for a in args if a is not None]",
        after="return [a for a in args if a is not None or len(args) > 1]",
        page="command-line",
        why="a list behind `py::` loses each `None`",
    ),
    Patch(
        module="kauldron.konfig.module_configdict",
        before='    print(f"Attempted to parse: {dict_string}")\n    return {}\n',
        after='    print(f"Attempted to parse: {dict_string}")\n    raise\n',
        page="command-line",
        why="arguments without quotes are dropped, and the defaults taken",
    ),
    Patch(
        module="kauldron.cli.patch_config",
        before='    if hasattr(cfg, "setup"):\n',
        after='    if not self.skip_flatboard and hasattr(cfg, "setup"):\n',
        page="command-line",
        why="a patched config of a trainer cannot be resolved",
    ),
    Patch(
        module="kauldron.typing.shape_spec",
        before='    Operator("/", operator.truediv, _Priority.MUL),\n',
        after='    Operator("/", operator.floordiv, _Priority.MUL),\n',
        page="annotations",
        why="`Shape` divides to a float, whatever its docstring says",
    ),
    Patch(
        module="kauldron.typing.array_types",
        before='ScalarInt = Integer[""]\n',
        after='ScalarInt = Int[""]\n',
        page="annotations",
        why="`ScalarInt` takes unsigned integers",
    ),
    Patch(
        module="kauldron.kontext.filter_utils",
        before="    return _filter_by_path(obj, path.parts)\n",
        after="    found = _filter_by_path(obj, path.parts)\n"
        "    return {} if found is _MISSING else found\n",
        page="kontext",
        why="a filter that fits nothing returns a bare object",
    ),
    Patch(
        module="kauldron.kontext.annotate",
        before="paths.flatten_with_path(key_paths).items() if v is None",
        after="paths.flatten_with_path(key_paths, is_leaf=lambda x: x is None).items()"
        " if v is None",
        page="kontext",
        why="a path that is None stays None",
    ),
    Patch(
        module="kauldron.train.trainer_lib",
        before="default_factory=export.NoopExporter",
        after="default_factory=export.JaxModelExporter",
        page="upstream-drift",
        why="by default a trainer exports nothing",
    ),
    Patch(
        module="kauldron.ktyping.dim_view",
        before="""    raise TypeError(
        f"Deleting dimensions is not supported. Tried to delete {name!r}"
    )""",
        after="    return None",
        page="upstream-drift",
        why="an axis cannot be deleted",
    ),
    Patch(
        module="kauldron.inspect.inspect",
        before='return str_path == path or str_path.startswith(path + ".")',
        after='return not path or f"{str_path}.".startswith(path + ".")',
        page="inspect",
        why="the model itself has no total in its row",
    ),
    Patch(
        module="kauldron.inspect.plotting",
        before='elif alt.__version__ == "5.5.0":',
        after='elif int(alt.__version__.split(".")[0]) >= 5:',
        page="inspect",
        why="schedules are drawn with two versions of Altair only",
    ),
    Patch(
        module="kauldron.summaries.images",
        before="diff_vmin = vmin - vmax",
        after="diff_vmin = 0.0",
        page="summaries",
        why="no difference is a middle grey",
    ),
    Patch(
        module="kauldron.summaries.images",
        before="np.asarray(self.parent.palette) if self.parent.palette else None",
        after="None if self.parent.palette is None"
        " else np.asarray(self.parent.palette)",
        page="summaries",
        why="a palette that is an array fails",
    ),
    Patch(
        module="kauldron.contrib.modules.knnx",
        before="    if is_training_property:\n      module.train()",
        after="    if True:\n      module.train()",
        page="nnx",
        why="an evaluation switches dropout and batch norm off",
    ),
    Patch(
        module="kauldron.contrib.modules.nnx_wrapper",
        before="      jax.debug.print('No rngs found in scope.')",
        after="      pass",
        page="nnx",
        why="a wrapped module prints a line for each batch of an evaluation",
    ),
    Patch(
        module="kauldron.train.train_loop",
        before="        is_training=True,",
        after="        is_training=False,",
        page="export",
        why="the trainer exports the training mode",
    ),
    Patch(
        module="kauldron.export.exporter",
        before="  batch_specs: Any = 'b, ...'",
        after="  batch_specs: Any = '32, ...'",
        page="export",
        why="one file serves any number of rows",
    ),
    Patch(
        module="kauldron.train.train_loop",
        before="if not jax.config.jax_disable_jit and not jax.config",
        after="if not jax.config",
        page="debugging",
        why="the guard of the loop sleeps under `disable_jit`",
    ),
    Patch(
        module="kauldron.data.utils",
        before="    final_shape = _make_concrete_shape(spec.shape)\n"
        "    return jnp.empty(final_shape, dtype)\n",
        after="    final_shape = _make_concrete_shape(spec.shape)\n"
        "    return jnp.ones(final_shape, dtype)\n",
        page="debugging",
        why="a model is initialised with a batch of zeros",
    ),
    # From elsewhere.
    Patch(
        module="kauldron.data.in_memory",
        before="rng = rng.jumped(epoch)",
        after="rng = rng.jumped(epoch + 1)",
        page="from-flax-and-optax",
        why="each epoch is shuffled as the script does it",
    ),
    Patch(
        module="kauldron.train.rngs_lib",
        before="key='init',",
        after="key='start',",
        page="from-flax-and-optax",
        why="first parameters are drawn with a key of seed, stream and `init`",
    ),
    Patch(
        module="kauldron.checkpoints.partial_loader",
        before="self._partial_restore(state, ('params', 'collections'))",
        after="self._partial_restore(state, ('collections',))",
        page="fine-tune",
        why="the encoder is loaded from the pretrained run",
    ),
    Patch(
        module="kauldron.optim._masks",
        before="any(bool(p.search(path_str)) for p in pattern_regexes)",
        after="all(not p.search(path_str) for p in pattern_regexes)",
        page="fine-tune",
        why="`select` chooses what is trained, not all the rest",
    ),
    Patch(
        module="kauldron.modules.input_embeddings",
        before="padding='VALID',",
        after="padding='SAME',",
        page="models",
        why="patches that do not fill the image leave its edge out",
    ),
    Patch(
        module="kauldron.random.random",
        before="    return self.split(1)[0]\n",
        after="    return self.split(2)[1]\n",
        page="models",
        why="`next()` is the first half of a split",
    ),
)
