"""The doctor as a file to download: it is there, linked, alone, and knows the book."""

import subprocess
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup

from book import doctor_file
from tests import environments

URL = "https://example.org/book"


def written(folder, html_baseurl: str) -> str:
    """Return the file that a build writes."""
    builder = SimpleNamespace(format="html")
    config = SimpleNamespace(html_baseurl=html_baseurl)
    app = SimpleNamespace(outdir=folder, builder=builder, config=config)
    doctor_file.write(app, None)
    return (folder / "doctor.py").read_text("utf-8")


def test_the_page_leads_to_the_file(built):
    html = built[1] / "html"
    page = BeautifulSoup((html / "install.html").read_text("utf-8"), "html.parser")
    (link,) = page.article.select("a[href='doctor.py']")
    assert link.get_text() == "doctor.py"
    assert (html / "doctor.py").read_bytes() == environments.FILE.read_bytes()


def test_the_file_runs_alone_and_leads_into_the_book(tmp_path):
    assert f"\nBOOK = '{URL}/'\n" in written(tmp_path, URL)
    python = environments.bare(tmp_path / "venv")
    command = [python, "doctor.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 1
    assert f"\n  read: {URL}/install.html#install-pip\n" in run.stdout


def test_without_an_address_the_file_is_the_snippet(tmp_path):
    assert written(tmp_path, "") == environments.FILE.read_text("utf-8")


def test_a_build_that_failed_writes_none(tmp_path):
    builder = SimpleNamespace(format="html")
    doctor_file.write(SimpleNamespace(outdir=tmp_path, builder=builder), ValueError())
    assert not (tmp_path / "doctor.py").exists()


@pytest.mark.parametrize("source", ["", 'BOOK = "https://here/"\n', 'BOOK = ""\n' * 2])
def test_code_with_no_place_for_the_address_is_refused(source):
    with pytest.raises(ValueError, match="has to have one line 'BOOK = \"\"'"):
        doctor_file.told(source, URL)
