"""The measurement of builds measures what it says, and names what fails."""

import json
import os
import subprocess
import sys

import pytest

from book import bench, bench_builds, bench_growth
from book.bench_builds import Book, Edited, Failed, Memory
from tests.book.front import BARE

NEXT = "\nWords.\n\n(index-next)=\n## Next\n\nNo more.\n"
GOOD = f"{BARE}(index)=\n# Title\n\n```{{code-cell}} python\nprint(6 * 7)\n```\n{NEXT}"
BAD = GOOD.replace("6 * 7", "6 / 0")
EDITED = Edited(page="docs/index.md", leaf="snippets/showing.py")


@pytest.fixture
def book(tmp_path):
    """A book of one small page, which uses no module."""
    found = Book(tmp_path / "book", {"index": GOOD})
    (found.folder / "snippets" / "showing.py").unlink()
    return found


def test_pages_are_counted_in_every_kind_of_build(book):
    def ran(what: str) -> list[str]:
        return book.executed[what]

    assert book.cold("cold", 1) > 0 and ran("cold") == ["index"]
    assert book.build("no change") > 0 and ran("no change") == []
    book.after("edited", "docs/index.md", lambda text: bench_builds.a_cell(text, 1))
    assert ran("edited") == ["index"] and ran("edited, taken back") == []
    book.after("a sentence", "docs/index.md", bench_builds.a_sentence)
    assert ran("a sentence") == []
    assert book.stock("stock", "force") > 0 and book.floor("floor") > 0


@pytest.mark.proof
def test_every_measurement_runs_on_a_small_book(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "RECORDED", tmp_path)
    page = GOOD.replace("print(", "from snippets import showing\nprint(")
    book = Book(tmp_path / "book", {"index": page})
    (found,) = bench_builds.measure(book, EDITED, 1)
    assert all(taken > 0 for taken in found["seconds"].values())
    assert found["pages"] == found["cells"] == 1
    ran = found["executed"]
    assert ran["cold, two jobs"] == ran["a leaf module edited"] == 1
    assert ran["a cell edited"] == ran["a cell edited, kept warm"] == 1
    assert ran["no change"] == ran["a sentence edited"] == 0


def test_a_record_says_what_it_was_measured_with(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench, "RECORDED", tmp_path)
    compared = {"cold, one job ÷ floor": 1.4, "cold, two jobs ÷ floor": 1.0}
    found = {"seconds": {"floor": 2.0}, "compared": compared, "turns": [{}] * 3}
    bench_builds.write("it", found)
    record = json.loads((tmp_path / "it.json").read_text("utf-8"))
    assert record["targets"].keys() == compared.keys()
    assert record["repeats"] == 3 and record["measured"] and record["machine"]
    assert {"kauldron", "sphinx", "myst-nb"} <= set(record["versions"])
    said = capsys.readouterr().out.splitlines()
    assert [line for line in said if "MISSED" in line] == [
        "       1.40    cold, one job ÷ floor  (at most 1.3: MISSED)"
    ]


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda book: book.cold("it"), "docs/index.md:11: ZeroDivisionError"),
        (lambda book: book.stock("it", "force"), "index.md:11 did not run"),
        (lambda book: book.floor("it"), "ZeroDivisionError"),
    ],
    ids=["ours", "stock", "floor"],
)
def test_what_fails_is_named_and_not_timed(build, says, book):
    (book.docs / "index.md").write_text(BAD, "utf-8")
    with pytest.raises(Failed, match=r"(?s)^it: ") as failure:
        build(book)
    assert says in str(failure.value)


def test_a_build_that_leaves_out_a_page_is_named(book, monkeypatch):
    monkeypatch.setattr(Book, "build", lambda book, what, *arguments: 1.0)
    book.executed["it"] = []
    with pytest.raises(Failed, match="it: index did not run"):
        book.cold("it")


def test_an_edit_that_changes_nothing_is_named(book):
    with pytest.raises(Failed, match="no change to docs/index"):
        book.after("it", "docs/index.md", lambda text: text)


def test_a_failure_ends_the_run_and_records_nothing(tmp_path, monkeypatch):
    def measure(folder, repeats):
        raise Failed("floor: exit status 1")

    monkeypatch.setattr(bench, "RECORDED", tmp_path)
    monkeypatch.setattr(sys, "argv", ["it", "--repeats", "1"])
    monkeypatch.setattr(bench_builds, "prepare", lambda: None)
    monkeypatch.setattr(bench_builds.os, "environ", {})
    with pytest.raises(SystemExit, match="make bench: floor: exit status 1"):
        bench_builds.command("it", measure)
    assert not list(tmp_path.glob("*.json"))


def test_a_run_that_was_stopped_goes_on(tmp_path, monkeypatch):
    def measure(folder, repeats):
        turns = [*bench_builds.turns_kept("it", repeats, pages=2)]
        while len(turns) < repeats:
            if turns and not goes_on:
                raise Failed("floor: exit status 1")
            turns.append({"floor": 1.0 + len(turns)})
            found = bench_builds.medians(turns)
            yield found | {"compared": {}, "pages": pages}

    def record() -> dict:
        return json.loads((tmp_path / "it.json").read_text("utf-8"))

    monkeypatch.setattr(bench, "RECORDED", tmp_path)
    monkeypatch.setattr(sys, "argv", ["it", "--repeats", "3"])
    monkeypatch.setattr(bench_builds, "prepare", lambda: None)
    monkeypatch.setattr(bench_builds.os, "environ", {})
    goes_on, pages = False, 2
    with pytest.raises(SystemExit, match="floor: exit status 1"):
        bench_builds.command("it", measure)
    assert record()["repeats"] == 1 and record()["seconds"] == {"floor": 1.0}
    goes_on = True
    bench_builds.command("it", measure)
    assert record()["turns"] == [{"floor": 1.0}, {"floor": 2.0}, {"floor": 3.0}]
    assert record()["repeats"] == 3 and record()["seconds"] == {"floor": 2.0}
    # Neither after a whole run, nor if something else was measured.
    assert bench_builds.turns_kept("it", 3, pages=2) == ()
    assert bench_builds.turns_kept("it", 4, pages=3) == ()
    assert len(bench_builds.turns_kept("it", 4, pages=2)) == 3


def test_what_is_compared_is_compared_within_a_turn():
    slow = {what: 2.0 for what in ("floor", "stock", "stock, -j 2", "no change")}
    slow |= {"cold, one job": 2.6, "cold, two jobs": 1.8, "a sentence edited": 2.9}
    slow |= {"Sphinx's own, no change": 1.5}
    quick = {what: taken / 2 for what, taken in slow.items()}
    assert bench_builds._compared([slow, quick, slow])["cold, one job ÷ floor"] == 1.3
    assert bench_builds._compared([slow])["a sentence, beyond Sphinx's own"] == 1.4


def test_each_edit_gives_another_text_and_spares_the_rest():
    edits = [bench_builds.a_cell(GOOD, n) for n in (1, 2)]
    edits += [bench_builds.a_module(GOOD, n) for n in (1, 2)]
    edits.append(bench_builds.a_sentence(GOOD))
    assert len({GOOD, *edits}) == 6
    for text in edits:
        assert set(GOOD.splitlines()) <= set(text.splitlines())
        assert len(text.splitlines()) - len(GOOD.splitlines()) <= 2


def test_books_that_grow_build_and_are_compared(tmp_path):
    (found,) = bench_growth.measure(tmp_path, 1, sizes=(1, 2))
    assert set(found["seconds"]) == {"1 pages", "2 pages"}
    assert set(found["compared"]) == {
        "2 pages ÷ 1, time",
        "2 pages ÷ 1, builder's memory",
    }
    assert all(value > 0 for value in found["megabytes"].values())


def test_no_two_chapters_are_kept_under_one_key(tmp_path):
    cells = Book(tmp_path / "book", bench_growth.chapters(5)).cells()
    assert len({tuple(cell.source for cell in page) for page in cells.values()}) == 5


def test_memory_counts_what_was_started_apart():
    code = (
        "import time; block = bytearray(200_000_000); print(flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        memory = Memory()
        memory.look(os.getpid())
        process.kill()
    assert memory.started > 190
    assert memory.builder > 1
