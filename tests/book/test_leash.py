"""Folders of builds that were killed are removed by a later build."""

import os
import subprocess
import sys
import tempfile

from book import leash


def test_orphans_go_and_others_stay(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    names = {
        f"{leash.NAME}-{gone.pid}-old": True,
        f"{leash.NAME}-{gone.pid}-new": False,
        f"{leash.NAME}-{os.getpid()}-old": False,
        f"{leash.NAME}-one-old": False,
        f"book-{gone.pid}-old": False,
    }
    for name in names:
        (tmp_path / name / "inner").mkdir(parents=True)
        if name.endswith("-old"):
            os.utime(tmp_path / name, (0, 0))
    leash.remove_orphans((str(tmp_path),))
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {name for name, goes in names.items() if not goes}


def test_a_folder_names_its_maker(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with leash.folder() as folder:
        assert os.path.dirname(folder) == str(tmp_path)
        assert os.path.basename(folder).startswith(f"{leash.NAME}-{os.getpid()}-")
    assert not os.path.exists(folder)
