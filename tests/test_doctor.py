"""What the doctor finds: in records, in simulated environments, and in real ones."""

import ast
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import time
import warnings

import jaxlib.plugin_support
import pytest

from book.cells import ROOT
from snippets import doctor
from snippets.doctor import Facts, Outcome
from snippets.install import recorded
from tests import environments
from tests.environments import FILE, PACKAGES, examined

PRNG = "module 'jax._src' has no attribute 'prng'"
KEY = "module 'jax._src.random' has no attribute '_check_prng_key'"
MEMO = "check_argument_types() got an unexpected keyword argument 'memo'"


@pytest.fixture(scope="session")
def bare(tmp_path_factory) -> pathlib.Path:
    return environments.bare(tmp_path_factory.mktemp("bare") / "venv")


@pytest.fixture
def simulated(bare, tmp_path):
    """Return a function that makes an environment and has it examined."""

    def make(packages=(), modules=(), lines=(), options=(), **environ):
        environments.write(tmp_path, dict(packages), dict(modules), dict(lines))
        return examined(bare, tmp_path, *options, PYTHONPATH=str(tmp_path), **environ)

    return make


def only(findings):
    """Return the one thing that was found."""
    assert len(findings) == 1, findings
    return findings[0]


# --- simulated environments -----------------------------------------------------------


def test_nothing_is_wrong_with_a_good_one(simulated):
    status, said = simulated()
    assert (status, said.problems, said.advice) == (0, [], [])
    tried = vars(said.outcomes)
    assert list(tried) == list(doctor.PROBES)
    assert {each.error for each in tried.values()} == {""}
    assert said.outcomes.devices.result == ["2 cpu (cpu)"]
    assert vars(said.versions) == PACKAGES


def raising(kind: str, message: str) -> str:
    return f"raise {kind}({message!r})\n"


WRAPPED = f"""
Float = {{"n": None}}
def typechecked(f):
    try:
        {raising("TypeError", MEMO)}
    except TypeError as error:
        raise ValueError("wrapped") from error
"""
CAUSED = f"""
try:
    {raising("ImportError", "two" + chr(10) + "lines: 3")}
except ImportError as error:
    raise ValueError("wrapped") from error
"""
NO_DEVICE = "def devices():\n    " + raising("RuntimeError", "no 'cuda'")
BUILDER = "tensorflow_datasets/core/dataset_builder.py"
JAXLIB = """\
Requires-Dist: jaxlib<=0.12.0.1,>=0.11.2
Requires-Dist: jaxlib==0.11.2; extra == "ci"
"""

# How it is broken; then the problem, its cure, and its section, in part.
BROKEN = {
    "no kauldron": (
        {"packages": {"kauldron": None}},
        ("kauldron is not installed", "install kauldron", "install.html#install-pip"),
    ),
    "no jaxlib": (
        {"packages": {"jaxlib": None}, "modules": {"jax.py": "import jaxlib\n"}},
        ("jaxlib is not installed", "install jaxlib", "install.html#install-pip"),
    ),
    "no tensorflow": (
        {"packages": {"tensorflow-cpu": None}},
        ("TensorFlow is not", "install tensorflow", "install.html#install-platforms"),
    ),
    "an old etils": (
        {
            "packages": {"etils": "1.14.0", "jax": "0.10.2"},
            "modules": {"etils/enp.py": raising("AttributeError", PRNG)},
        },
        (PRNG, 'install "etils>=1.15"', "install.html#install-etils"),
    ),
    "an old etils, by the message alone": (
        {"modules": {"etils/enp.py": raising("AttributeError", PRNG)}},
        (PRNG, 'install "etils>=1.15"', "install.html#install-etils"),
    ),
    "an old kauldron and a new typeguard": (
        {
            "packages": {"kauldron": "1.3.0", "jax": "0.10.1"},
            "modules": {"kauldron/typing.py": WRAPPED},
        },
        (MEMO, 'install "kauldron>=1.4.2"', "errors.html#errors-memo"),
    ),
    "an old kauldron and a new jax": (
        {
            "packages": {"kauldron": "1.4.1", "jax": "0.10.2"},
            "modules": {"kauldron/kd.py": raising("AttributeError", KEY)},
        },
        (KEY, 'install "kauldron>=1.4.2"', "errors.html#errors-check-prng-key"),
    ),
    "an import that crashes": (
        {"modules": {"kauldron/kd.py": "import os\nos.abort()\n"}},
        ("trainer: ended by SIGABRT", "install --upgrade", "errors.html#errors"),
    ),
    "an import that ends Python": (
        {"modules": {"kauldron/kd.py": "import os\nos.write(1, b'bye')\nos._exit(3)"}},
        ("trainer: ended, and said last: bye", "--upgrade", "errors.html#errors"),
    ),
    "an import that exits": (
        {"modules": {"kauldron/kd.py": raising("SystemExit", "no licence")}},
        ("trainer: SystemExit: no licence", "--upgrade", "errors.html#errors"),
    ),
    "an error that nobody knows": (
        {"modules": {"kauldron/kd.py": CAUSED}},
        ("trainer: lines: 3", "--upgrade kauldron jax", "errors.html#errors"),
    ),
    "a package that nobody declares": (
        {"modules": {"kauldron/kd.py": "import tensorboard\n"}},
        ("'tensorboard'", "install tensorboard", "install.html#install-versions"),
    ),
    "a jaxlib of another release": (
        {"packages": {"jaxlib": "0.10.0"}, "lines": {"jax": JAXLIB}},
        (
            "needs jaxlib<=0.12.0.1,>=0.11.2, and jaxlib 0.10.0 is",
            "install --upgrade jax jaxlib",
            "install.html#install-versions",
        ),
    ),
    "a plugin of another release": (
        {"packages": {"jax-cuda12-plugin": "0.10.1"}},
        (
            "jax-cuda12-plugin 0.10.1 is not of the release of jaxlib 0.12.0.1",
            'install --upgrade "jax[cuda12]"',
            "install.html#install-accelerators",
        ),
    ),
    "an accelerator that is not there": (
        {"modules": {"jax.py": NO_DEVICE}, "JAX_PLATFORMS": "cuda"},
        (
            "devices: RuntimeError: no 'cuda' (JAX_PLATFORMS=cuda)",
            "unset JAX_PLATFORMS",
            "install.html#install-accelerators",
        ),
    ),
    "a jax without devices": (
        {"modules": {"jax.py": NO_DEVICE}},
        (
            "devices: RuntimeError: no 'cuda'",
            "install --upgrade jax jaxlib",
            "install.html#install-accelerators",
        ),
    ),
    "no importlib_resources": (
        {
            "packages": {"importlib-resources": None, "tensorflow-datasets": "4.9.10"},
            "modules": {BUILDER: "with lazy():\n  import importlib_resources\n"},
        },
        (
            "TensorFlow Datasets needs importlib_resources",
            "install importlib-resources",
            "install.html#install-widgets",
        ),
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_one_is_known_by_what_is_broken(kind, simulated):
    environment, (what, cure, section) = BROKEN[kind]
    status, said = simulated(**environment)
    problem = only(said.problems)
    assert status == 1
    assert what in problem.what and "\n" not in problem.what
    assert cure in problem.cure and "\n" not in problem.cure
    assert problem.section == section


def test_an_import_without_end_is_ended_with_all_that_it_started(simulated, tmp_path):
    hangs = """
        import pathlib, subprocess, sys, time
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        pathlib.Path("child").write_text(str(child.pid))
        time.sleep(60)
        """
    before = time.monotonic()
    status, said = simulated(
        modules={"kauldron/kd.py": hangs}, options=["--timeout", "3"]
    )
    assert time.monotonic() - before < 30
    assert status == 1
    assert only(said.problems).what == "trainer: no answer in 3 seconds"
    child = int((tmp_path / "child").read_text())
    for _ in range(100):
        state = pathlib.Path(f"/proc/{child}/stat")
        if not state.exists() or ") Z " in state.read_text():
            break
        time.sleep(0.05)
    else:
        pytest.fail("what the import had started runs still")


# How it is, and what is advised, none of which is a problem.
ADVISED = {
    "no ipywidgets": (
        {"packages": {"ipywidgets": None}},
        ("ipywidgets", "install ipywidgets", "install.html#install-widgets"),
    ),
    "no byte code": (
        {"PYTHONDONTWRITEBYTECODE": "1"},
        (
            "PYTHONDONTWRITEBYTECODE",
            "unset PYTHONDONTWRITEBYTECODE",
            "install.html#install-imports",
        ),
    ),
    "a plugin without a device": (
        {"packages": {"jax-cuda13-plugin": "0.12.0.1"}},
        ("jax-cuda13-plugin", "jax.devices()", "install.html#install-accelerators"),
    ),
    "a plugin that is not wanted": (
        {"packages": {"libtpu": "0.0.50"}, "JAX_PLATFORMS": "cpu"},
        ("libtpu", "unset JAX_PLATFORMS", "install.html#install-accelerators"),
    ),
}


@pytest.mark.parametrize("kind", ADVISED)
def test_advice_is_no_problem(kind, simulated):
    environment, (what, cure, section) = ADVISED[kind]
    status, said = simulated(**environment)
    advice = only(said.advice)
    assert (status, said.problems) == (0, [])
    assert what in advice.what and cure in advice.cure and advice.section == section


# Odd, and nothing is wrong with it.
GOOD = {
    "an old etils that was patched": {"packages": {"etils": "1.14.0"}},
    "a TensorFlow Datasets that needs nothing": {
        "packages": {"importlib-resources": None, "tensorflow-datasets": "5.0"},
        "modules": {BUILDER: "import importlib.resources\n"},
    },
    "packages without records": {
        "packages": {name: None for name in ("numpy", "typeguard")},
        "modules": {"numpy/__init__.py": "float32 = float\ndef ones(n, d): return [n]"}
        | {"typeguard/__init__.py": ""},
    },
}


@pytest.mark.parametrize("kind", GOOD)
def test_there_is_no_alarm_without_a_reason(kind, simulated, tmp_path):
    environment = GOOD[kind]
    if kind == "packages without records":
        for name, text in environment["modules"].items():
            (tmp_path / name).parent.mkdir()
            (tmp_path / name).write_text(text)
    status, said = simulated(**environment)
    assert (status, said.problems) == (0, [])


def test_half_a_package_does_not_stop_it(simulated, tmp_path):
    for name in ("grain-1.0.dist-info", "jax_cuda12_plugin-1.0.dist-info"):
        (tmp_path / name).mkdir()
    (tmp_path / "grain").mkdir()  # of that name, and no package
    status, said = simulated(lines={"flax": "\0"})
    assert (status, said.problems) == (0, [])
    assert "grain" not in vars(said.versions)


def test_a_plugin_is_known_by_its_entry_point_too(simulated, tmp_path):
    record = tmp_path / "my_device-3.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Name: My.Device\nVersion: 3.0\n")
    (record / "entry_points.txt").write_text("[jax_plugins]\nmine = mine\n")
    tpu = "import types\ndevices = lambda: [types.SimpleNamespace(platform='tpu', "
    status, said = simulated(modules={"jax.py": f"{tpu}device_kind='v9')]\n"})
    assert vars(said.plugins) == {"my-device": "3.0"}
    assert said.outcomes.devices.result == ["1 tpu (v9)"]
    assert (status, said.problems, said.advice) == (0, [], [])


def test_only_one_probe_touches_an_accelerator(simulated):
    asked = "import os\nassert os.environ['JAX_PLATFORMS'] == 'cpu'\n"
    device = """
        import os, types
        kind = os.environ.get("JAX_PLATFORMS", "any")
        devices = lambda: [types.SimpleNamespace(platform="gpu", device_kind=kind)]
        """
    status, said = simulated(
        modules={
            "etils/enp.py": asked + "ArraySpec = dict\n",
            "kauldron/__init__.py": asked,
            "jax.py": device,
        }
    )
    assert (status, said.problems) == (0, [])
    assert said.outcomes.devices.result == ["1 gpu (any)"]


# --- real environments ----------------------------------------------------------------

# Without the trainer, which takes longest; the page *install* tries all, in each build.
SOME = """
import doctor
doctor.PROBES = {name: doctor.PROBES[name] for name in ("devices", "etils probe")}
raise SystemExit(doctor.main())
"""


def test_the_books_own_environment_is_a_good_one(tmp_path):
    status, said = examined(sys.executable, tmp_path, code=SOME)
    assert (status, said.problems) == (0, [])
    assert said.program == sys.executable
    assert said.versions.kauldron == "1.4.4"
    assert list(vars(said.outcomes)) == ["devices", "etils probe"]


def test_an_empty_environment(bare, tmp_path):
    status, said = examined(bare, tmp_path)
    assert status == 1
    assert only(said.problems).cure.endswith(" install kauldron")
    assert (vars(said.versions), vars(said.outcomes)) == ({}, {})


def test_an_old_etils_is_found_in_a_real_environment(tmp_path):
    """It has the packages of this one, but for one function of etils, as it was."""
    python = environments.bare(tmp_path / "venv")
    (own,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    here = pathlib.Path(sysconfig.get_path("purelib"))
    (own / "book.pth").write_text(f"{here}\n")
    shutil.copytree(here / "etils", own / "etils")
    record = own / "etils-1.14.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Name: etils\nVersion: 1.14.0\n")
    with (own / "etils" / "enp" / "array_spec.py").open("a") as file:
        file.write(
            "\ndef _is_jax_random_dtype(dtype):\n"
            "  return lazy.has_jax and isinstance(dtype, lazy.jax._src.prng.KeyTy)\n"
        )
    status, said = examined(python, tmp_path, code=SOME)
    problem = only(said.problems)
    assert status == 1
    assert said.versions.etils == "1.14.0" and PRNG in problem.what
    assert problem.section == "install.html#install-etils"


@pytest.mark.proof
@pytest.mark.parametrize(
    "versions, message",
    [
        ({"kauldron": "1.4.2", "jax": "0.10.2", "etils": "1.14.0"}, PRNG),
        ({"kauldron": "1.3.0", "jax": "0.10.1", "typeguard": "4.6.1"}, MEMO),
    ],
)
def test_an_old_one_from_the_package_index(versions, message, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "compat"))
    import trying

    others = ["ipywidgets", "importlib-resources", "tensorboard"]
    folder = trying.environment(versions, others)
    status, said = examined(folder / "bin" / "python", tmp_path)
    assert (status, vars(said.versions) | versions) == (1, vars(said.versions))
    assert message in only(said.problems).what
    assert said.outcomes.devices.error == ""


# --- the rules, held to what was recorded ---------------------------------------------


def rules_say(versions: dict[str, str], **outcomes: Outcome) -> bool:
    """Tell whether a set of versions is known to be bad."""
    named = {name.replace("_", " "): outcome for name, outcome in outcomes.items()}
    return bool(list(doctor.known(Facts(versions, outcomes=named))))


def test_the_rules_agree_with_the_runs_of_etils():
    runs = recorded("etils-prng")["runs"]
    assert {rules_say(run) for run in runs} == {True, False}
    for run in runs:
        failed = set(run["results"].values()) != {"ok"}
        patched = {"etils_probe": Outcome()} if run["patched"] else {}
        assert rules_say(run, **patched) == failed, run


# What an older record tried, by the probe that tries it now. It tried a third thing,
# which is no fault of an environment: code that was written for another release.
TRIED = {"check a shape": "shape_check", "import the trainer": "trainer"}


def test_the_rules_agree_with_the_runs_of_an_older_kauldron():
    for run in recorded("older-kauldron")["runs"]:
        errors = {TRIED[name]: run["results"][name] for name in TRIED}
        errors = {name: error for name, error in errors.items() if error != "ok"}
        assert rules_say(run) == bool(errors), run
        for name, error in errors.items():  # by the message alone
            assert rules_say({}, **{name: Outcome(error=error, text=error)})


# The last versions that fail together, and the first that do not.
EDGES = [
    ({"etils": "1.14.0", "jax": "0.10.2"}, True),
    ({"etils": "1.14.0", "jax": "0.10.1"}, False),
    ({"etils": "1.15.0", "jax": "0.10.2"}, False),
    ({"kauldron": "1.4.1", "jax": "0.10.2"}, True),
    ({"kauldron": "1.4.1", "jax": "0.10.1"}, False),
    ({"kauldron": "1.4.2", "jax": "0.10.2"}, False),
    ({"kauldron": "1.3.0", "typeguard": "4.5.0"}, True),
    ({"kauldron": "1.3.0", "typeguard": "4.4.4"}, False),
    ({"kauldron": "1.1.1", "typeguard": "4.6.1"}, False),
    ({"kauldron": "1.4.0", "typeguard": "4.6.1"}, False),
    ({"kauldron": "unknown", "jax": "0.12.0"}, False),
]


@pytest.mark.parametrize("versions, fail", EDGES)
def test_the_rules_name_no_version_too_many_and_none_too_few(versions, fail):
    assert rules_say(versions) == fail


def test_the_rules_agree_with_the_combinations_that_were_tried():
    path = ROOT / "snippets" / "recorded" / "compat.json"
    if not path.exists():
        pytest.skip("no combination has been recorded yet: make compat")
    tried = json.loads(path.read_text("utf-8"))["combinations"]
    wrong = []
    for name, each in tried.items():
        if each["installed"] and "trainer" in each["chapters"]:
            failed = each["chapters"]["trainer"]["result"] == "fails"
            patched = {"etils_probe": Outcome()} if each["patched"] else {}
            named = rules_say(each["versions"], **patched)
            # The chapters use what came with 1.4, so that they fail without it even
            # where the versions fit; there no alarm may be false, and that is all.
            older = doctor.within(each["versions"]["kauldron"], "<1.4")
            if named > failed or (failed > named and not older):
                wrong.append(name)
    assert not wrong


def test_each_rule_leads_to_a_section_that_is_published():
    published = (ROOT / "docs" / "anchors.txt").read_text("utf-8")
    sections = set(ast.walk(ast.parse(FILE.read_text("utf-8"))))
    sections = {
        node.value
        for node in sections
        if isinstance(node, ast.Constant) and ".html#" in str(node.value)
    }
    assert {rule.section for rule in doctor.RULES} < sections
    for section in sections:
        assert f"{section} " in published or f"{section}\n" in published, section


def test_plugins_are_compared_as_jaxlib_compares_them():
    for version in ("0.12.0.1", "0.12.0", "0.12.0.1.post1", "0.11.2"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fits = jaxlib.plugin_support.check_plugin_version(
                "jax_cuda12_plugin", "0.12.0.1", version
            )
        facts = Facts(PACKAGES, plugins={"jax-cuda12-plugin": version})
        assert bool(doctor.problems(facts)) != fits, version


# --- versions -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "version, allowed, fits",
    [
        ("0.10.2", ">=0.10.2", True),
        ("0.10.10", ">=0.10.2", True),
        ("0.9.9", ">=0.10.2", False),
        ("0.10", ">=0.10.0,<0.10.1", True),
        ("0.10.2.1", "<=0.10.2", False),
        ("1.4.1", "<1.4.2", True),
        ("1.4.2", "<1.4.2", False),
        ("1.3.0", ">=1.2,<1.4", True),
        ("1.4.0", ">=1.2,<1.4", False),
        ("2", ">2", False),
        ("2.1", "!=2", True),
        ("2.0", "!=2", False),
        ("0.4.30+cuda12.cudnn89", "==0.4.30", True),
        ("0.4.31", "==0.4.30", False),
        ("3.0", "", True),
        ("3.0", "==0.4.*", True),  # nobody asks so; no alarm
        ("3.0", "~=2.0", True),
    ],
)
def test_versions_are_compared_as_numbers(version, allowed, fits):
    assert doctor.within(version, allowed) == fits


# --- the command and the file ---------------------------------------------------------


def test_the_report_says_each_thing_on_a_line(capsys, monkeypatch):
    facts = Facts(
        {"kauldron": "1.3.0", "jax": "0.10.1", "typeguard": "4.6.1"},
        program="/bin/python",
        python="3.12.1",
        plugins={"libtpu": "0.0.50"},
        outcomes={"devices": Outcome(result=("1 cpu (cpu)",)), "trainer": Outcome()},
        environ={"PYTHONDONTWRITEBYTECODE": "1"},
    )
    monkeypatch.setattr(doctor, "BOOK", "https://host/book/")
    monkeypatch.setattr(doctor, "examine", lambda seconds: facts)
    assert doctor.main([]) == 1
    said = capsys.readouterr().out.splitlines()
    rows = dict(line.split("  ", 1) for line in said if "  " in line.lstrip())
    rows = {name: row.strip() for name, row in rows.items()}
    assert rows["Python"] == "3.12.1  /bin/python"
    assert (rows["kauldron"], rows["flax"]) == ("1.3.0", "-")
    assert rows["jax plugins"] == "libtpu 0.0.50"
    assert (rows["devices"], rows["trainer"]) == ("1 cpu (cpu)", "works")
    at = next(n for n, line in enumerate(said) if MEMO in line)
    assert said[at - 1] == "" and said[at].startswith("PROBLEM: kauldron 1.3.0 and ")
    assert said[at + 1] == '  cure: python -m pip install "kauldron>=1.4.2"'
    assert said[at + 2] == "  read: https://host/book/errors.html#errors-memo"
    titles = [line.split(":")[0] for line in said if line.startswith(("PROB", "adv"))]
    assert titles == sorted(titles) and titles.count("advice") == 3
    assert said[-1] == f"{titles.count('PROBLEM')} problems were found."
    assert doctor.main(["--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert len(found["problems"]) == titles.count("PROBLEM")
    assert found["problems"][-1]["section"].startswith("https://host/book/")


def test_good_news_is_said_too(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "examine", lambda seconds: Facts(PACKAGES))
    assert doctor.main(["--timeout", "5"]) == 0
    assert capsys.readouterr().out.endswith("\nNo problem was found.\n")


@pytest.mark.parametrize(
    "wrong", [["--jsn"], ["--timeout", "soon"], ["--timeout", "0"], ["jax"]]
)
def test_a_wrong_argument_is_refused_in_a_line(wrong, capsys):
    with pytest.raises(SystemExit) as left:
        doctor.main(wrong)
    assert left.value.code == 2
    assert "doctor: error: " in capsys.readouterr().err.splitlines()[-1]


def test_it_imports_nothing_but_the_standard_library():
    tree = ast.parse(FILE.read_text("utf-8"), feature_version=(3, 10))
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module)
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


def python_3_10() -> str:
    """Return a Python 3.10 of this machine, if there is one that runs; else ''."""
    versions = (
        os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv")) + "/versions"
    )
    named = [shutil.which("python3.10"), *glob.glob(f"{versions}/3.10*/bin/python")]
    for python in filter(None, named):
        command = [python, "-c", "import sys; print(sys.version_info[:2])"]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.stdout.strip() == "(3, 10)":
            return python
    return ""


def test_python_3_10_is_enough_to_be_told_that_it_is_too_old(tmp_path):
    python = python_3_10()
    if not python:
        pytest.skip("there is no Python 3.10 on this machine")
    status, said = examined(python, tmp_path)
    assert status == 1
    assert said.problems[0].what.startswith("Kauldron needs Python 3.11 or later")
    assert said.problems[0].cure == "uv venv --python 3.12"


def test_the_command_installs_into_the_python_that_was_asked(monkeypatch, tmp_path):
    there = {"pip", "uv"}
    on_path = {"python": sys.executable, "uv": "/bin/uv"}
    monkeypatch.setattr(doctor.shutil, "which", lambda name: on_path.get(name))
    monkeypatch.setattr(
        doctor.importlib.util, "find_spec", lambda name: name in there or None
    )
    assert doctor.install_command() == "python -m pip install"
    on_path["python"] = "/usr/bin/python"
    assert doctor.install_command() == f"{sys.executable} -m pip install"
    there.clear()
    assert doctor.install_command() == f"uv pip install --python {sys.executable}"
    del on_path["uv"]
    monkeypatch.setattr(doctor.sys, "executable", "/my env/python")
    start = "'/my env/python' -m ensurepip && '/my env/python' -m pip install"
    assert doctor.install_command() == start
