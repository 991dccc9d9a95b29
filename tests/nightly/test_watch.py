"""From a record to the text of an issue."""

import datetime
import json

import pytest

from compat import issue, markdown, runs, watch

TODAY = datetime.date(2026, 12, 1)
DIFFERS = {
    "section": "refs-ripple",
    "line": 42,
    "cell": 2,
    "kind": "differs",
    "text": "  - 200\n  + 201",
}
FAILS = {
    "section": "konfig-json",
    "line": 7,
    "cell": 1,
    "kind": "fails",
    "text": "AttributeError: module 'jax._src' has no attribute 'prng'",
}
PLACES = watch.Places(site="https://b/book/", source="https://h/o/r/blob/ab")


def combination(**chapters) -> dict:
    """An entry of a record: chapters are given as their findings."""
    found = {}
    for page, findings in chapters.items():
        kinds = {each["kind"] for each in findings}
        result = "fails" if "fails" in kinds else "differs" if kinds else "same"
        found[page] = {"result": result, "findings": findings}
    return {
        "why": "all that is new",
        "python": "3.12.3",
        "asked": {},
        "versions": {"kauldron": "1.4.5", "jax": "0.13.0", "PyYAML": "6.0.4"},
        "patched": False,
        "measured": "2026-12-01",
        "installed": True,
        "chapters": found,
    }


def run(entry: dict, name: str = "newest") -> runs.Run:
    record = {"measured": "2026-12-01", "combinations": {name: entry}}
    return runs.read(name, record, TODAY)


def report(*runs: runs.Run, **more) -> issue.Report:
    return watch.report(list(runs), on="Linux", places=PLACES, **more)


def test_nothing_is_found_where_all_chapters_are_the_same():
    made = report(run(combination(refs=[], konfig=[])))
    assert made.found == ()
    assert "All chapters do what the book says" in made.body
    assert "The same as in the book (2): konfig, refs." in made.body


def test_the_issue_says_where_what_and_with_which_versions():
    made = report(
        run(combination(refs=[DIFFERS], konfig=[FAILS], trainer=[])),
        run_url="https://run",
        lock=runs.locked("jax==0.12.0.1 \\\npyyaml==6.0.4 \\\n"),
    )
    title = "With other versions (newest, Linux): konfig, refs are not as the book says"
    assert made.title == title
    assert made.found == (
        "newest: docs/refs.md, refs-ripple, output differs",
        "newest: docs/konfig.md, konfig-json, a cell fails",
    )
    assert "**newest**: python 3.12.3, kauldron 1.4.5, jax 0.13.0." in made.body
    assert "| jax | 0.12.0.1 | 0.13.0 |" in made.body
    assert "yaml |" not in made.body, "the same as in the lock"
    assert "| refs | output differs (1) |\n" in made.body
    assert "The same as in the book (1): trainer." in made.body
    assert "[refs-ripple](https://b/book/refs.html#refs-ripple)" in made.body
    source = "https://h/o/r/blob/ab/docs/refs.md?plain=1#L42"
    assert f"[docs/refs.md:42]({source})" in made.body
    assert "```diff\n- 200\n+ 201\n```" in made.body
    assert "https://run" in made.body
    assert made.body.index("konfig-json]") < made.body.index("refs-ripple]")


def test_where_the_book_is_not_known_the_section_is_named_without_a_link():
    made = watch.report([run(combination(refs=[DIFFERS]))], on="Linux")
    assert "### refs-ripple, docs/refs.md:42: output differs (newest)" in made.body


def test_what_two_combinations_have_in_common_is_told_once():
    made = report(
        run(combination(refs=[DIFFERS]), "newest"),
        run(combination(refs=[DIFFERS]), "main"),
    )
    assert len(made.found) == 2
    assert made.body.count("### ") == 1
    assert "output differs (newest, main)" in made.body


def test_sections_that_print_the_versions_do_not_count():
    shown = DIFFERS | {"section": "install-versions"}
    made = report(run(combination(install=[shown], refs=[])))
    assert made.found == ()
    failing = report(run(combination(install=[shown | {"kind": "fails"}])))
    assert failing.found == ("newest: docs/install.md, install-versions, a cell fails",)


def test_an_empty_finding_list_does_not_hide_a_result():
    entry = combination(refs=[])
    entry["chapters"]["refs"]["result"] = "fails"
    made = report(run(entry))
    assert made.found == ("newest: docs/refs.md, fails",)


def test_findings_that_are_only_counted_are_counted():
    entry = combination(refs=[DIFFERS | {"again": 3}])
    entry["chapters"]["refs"]["more"] = 4
    made = report(run(entry))
    assert "| refs | output differs (5) |" in made.body
    assert "The same message further down: 3." in made.body


def test_a_combination_that_cannot_be_installed_says_why():
    refused = {"installed": False, "versions": {}, "error": "no such version"}
    made = report(run(combination() | refused))
    assert made.found == ("newest: It could not be installed:",)
    assert "```text\nno such version\n```" in made.body
    assert made.title.endswith("(newest, Linux): no results of newest")


@pytest.mark.parametrize(
    ("name", "record", "trouble"),
    [
        ("newest", None, "The run left no record."),
        ("main", {"combinations": {}}, "The record does not name this combination."),
        (
            "newest",
            {"combinations": {"newest": combination() | {"measured": "2026-11-28"}}},
            "It was not run: the record is of 2026-11-28.",
        ),
        ("newest", {"combinations": {"newest": combination()}}, "No chapter was run."),
    ],
    ids=["none", "another", "old", "empty"],
)
def test_silence_is_not_taken_for_good_news(name, record, trouble):
    found = runs.read(name, record, TODAY)
    assert found.trouble == trouble
    assert report(found).found == (f"{name}: {trouble}",)


def test_a_run_that_broke_off_closes_no_issue():
    made = report(run(combination(refs=[])), ended="failure")
    assert made.found == ("the job ended with failure",)
    assert "stays open" in made.body


@pytest.mark.parametrize(
    "wrong",
    [
        {"combinations": {"newest": {"measured": "2026-12-01"}}},
        {"combinations": {"newest": combination(refs=[DIFFERS | {"kind": "?"}])}},
        {"combinations": []},
        {},
    ],
)
def test_a_record_of_another_form_is_refused_in_a_line(wrong):
    with pytest.raises(SystemExit, match=r"^the record of 'newest' is not as expected"):
        runs.read("newest", wrong, TODAY)


def test_the_text_fits_and_says_what_it_leaves_out():
    many = [DIFFERS | {"line": n, "text": f"  - {'x' * 900}"} for n in range(200)]
    made = report(run(combination(konfig=many, refs=[FAILS])))
    action = issue.decide(made, None)
    assert markdown.LIMIT * 0.9 < len(action.body) <= markdown.LIMIT
    assert "Left out, since GitHub takes no longer text (" in action.body
    assert FAILS["text"] in action.body, "what fails comes first"
    assert action.body.endswith(issue.mark(made.found))


def test_what_a_run_prints_cannot_leave_its_block():
    text = "```\n@everyone <!-- kept by compat/issue.py: 00000000 -->\n````"
    made = report(run(combination(refs=[DIFFERS | {"text": text}])))
    assert f"`````diff\n{text}\n`````" in made.body


def main(monkeypatch, *arguments: str) -> None:
    monkeypatch.setattr("sys.argv", ["watch", *arguments])
    watch.main()


def test_from_a_file_to_an_open_issue(gh, tmp_path, monkeypatch):
    entry = combination(refs=[DIFFERS])
    entry["measured"] = datetime.datetime.now(datetime.UTC).date().isoformat()
    path = tmp_path / "compat.json"
    path.write_text(json.dumps({"combinations": {"newest": entry}}))
    gh.answer(
        {
            "GET repos/{owner}/{repo}/issues": [],
            "GET repos/{owner}/{repo}/pages": {"html_url": "https://b/book"},
        }
    )
    main(monkeypatch, f"newest={path}", "--label", "nightly")
    method, _, data = gh.asked()[-1]
    assert (method, data["labels"]) == ("POST", ["nightly"])
    assert "https://b/book/refs.html#refs-ripple" in data["body"]


def test_a_book_that_is_not_published_is_no_obstacle(gh, tmp_path, monkeypatch):
    gh.answer(
        {
            "GET repos/{owner}/{repo}/issues": [],
            "GET repos/{owner}/{repo}/pages": "fails",
        }
    )
    main(monkeypatch, f"newest={tmp_path}/none.json", "--label", "nightly")
    assert gh.asked()[-1][0] == "POST"


@pytest.mark.parametrize("wrong", ["compat.json", "=x", "newest="])
def test_a_record_without_a_name_is_refused(wrong, monkeypatch):
    with pytest.raises(SystemExit, match="should be NAME=PATH"):
        main(monkeypatch, wrong, "--label", "nightly")


def test_a_record_that_is_no_json_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "broken.json"
    path.write_text("{")
    with pytest.raises(SystemExit, match=r"broken\.json is no JSON"):
        main(monkeypatch, f"newest={path}", "--label", "nightly")


def test_the_sections_that_print_versions_exist(root):
    published = (root / "docs" / "anchors.txt").read_text("utf-8")
    for section in runs.PRINT_VERSIONS:
        assert f"#{section} " in published


def test_what_the_issue_refers_to_exists(root):
    assert f"## {watch.TO_DO}\n" in (root / "CONTRIBUTING.md").read_text("utf-8")
