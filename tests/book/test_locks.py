"""The locks: every package pinned with a hash, and no address of an index."""

import re

import pytest
from packaging.requirements import Requirement


@pytest.fixture(params=["requirements.lock", "requirements-uv.lock"])
def lock(request, root) -> str:
    return (root / request.param).read_text("utf-8")


def test_every_pin_has_a_hash(lock):
    entries = re.split(r"\n(?=[a-z])", re.sub(r"^#.*\n", "", lock, flags=re.M))
    assert entries
    for entry in entries:
        requirement = Requirement(entry.split("\\")[0].strip())
        assert str(requirement.specifier).startswith("=="), entry
        assert "--hash=sha256:" in entry, entry


def test_there_is_no_address(lock):
    assert "://" not in lock
    assert "index-url" not in lock


def test_the_lock_is_what_is_installed(root):
    import importlib.metadata

    wrong = []
    for line in (root / "requirements.lock").read_text("utf-8").splitlines():
        if re.match(r"[a-z]", line):
            requirement = Requirement(line.rstrip(" \\"))
            if requirement.marker is None or requirement.marker.evaluate():
                installed = importlib.metadata.version(requirement.name)
                if not requirement.specifier.contains(installed, prereleases=True):
                    wrong.append(f"{requirement} but {installed} is installed")
    assert wrong == []
