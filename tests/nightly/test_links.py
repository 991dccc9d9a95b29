"""From what Sphinx found out about links to the text of an issue."""

import json

import pytest

from compat import links


def line(status: str, info: str = "", uri: str = "https://x.y", number: int = 3) -> str:
    entry = {"filename": "refs.md", "lineno": number, "status": status, "code": 0}
    return json.dumps(entry | {"uri": uri, "info": info})


def report(*lines: str, ended: str = "success"):
    source = "https://h/o/r/blob/ab"
    return links.report(links.read("\n".join(lines)), ended=ended, source=source)


def test_a_link_that_is_gone_is_reported_with_its_place():
    gone = line("broken", "404 Client Error: Not Found for url: https://x.y")
    made = report(gone, line("working", uri="https://fine"), ended="failure")
    assert made.found == ("https://x.y",)
    assert made.title == "Links of the book that lead nowhere: 1"
    assert "Of 2 links to other sites, 1 lead nowhere" in made.body
    place = "[docs/refs.md:3](https://h/o/r/blob/ab/docs/refs.md?plain=1#L3)"
    assert f"### {place}\n\n```text\nhttps://x.y\n404 Client Error" in made.body


@pytest.mark.parametrize(
    "unknown",
    [
        line("timeout", "Read timed out"),
        line("broken", "429 Client Error: Too Many Requests"),
        line("broken", "503 Server Error: Service Unavailable"),
    ],
)
def test_a_site_that_does_not_answer_says_nothing_about_a_link(unknown):
    made = report(unknown, line("working", uri="https://fine"), ended="failure")
    assert made.found == ()
    assert "Of 1, nothing is known" in made.body


def test_a_link_within_the_book_is_not_counted():
    assert links.read(line("unchecked", uri="#refs-ripple")) == []


def test_links_that_lead_on_are_fine():
    assert report(line("redirected", "https://x.y/en")).found == ()


def test_a_check_that_did_not_happen_is_something_to_look_at():
    nothing = "the check of links did not come to its end: failure"
    assert report(ended="failure").found == (nothing,)
    assert report(line("working"), ended="failure").found == (nothing,)
    assert report().found, "a book without links to other sites is none"
    assert report(line("working")).found == ()


def test_a_link_that_the_build_makes_has_no_line():
    made = report(line("broken", "404", number=0))
    assert "### docs/refs.md\n" in made.body


@pytest.mark.parametrize("wrong", ["{", "[]", '{"filename": "a.md"}'])
def test_another_file_is_refused_in_a_line(wrong):
    with pytest.raises(SystemExit, match="line 1 is none of linkcheck's"):
        links.read(wrong)


def test_from_a_file_to_a_closed_issue(gh, tmp_path, monkeypatch):
    from compat import issue

    output = tmp_path / "output.json"
    output.write_text(line("working") + "\n")
    text = issue.mark(("https://x.y",))
    listed = [{"number": 9, "title": "T", "body": text}]
    gh.answer({"GET repos/{owner}/{repo}/issues": listed})
    monkeypatch.setattr("sys.argv", ["links", str(output), "--label", "nightly-links"])
    links.main()
    closed = {"state": "closed", "state_reason": "completed"}
    assert gh.asked()[-1][2] == closed
