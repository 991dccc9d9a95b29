"""The check of links sees those that the page of names makes, and no build does."""

import types

from sphinx.builders.linkcheck import CheckExternalLinksBuilder

from book import upstream_links
from book.public import public


def given(builder, pages):
    env = types.SimpleNamespace(found_docs=set(pages), doc2path=lambda page: page)
    upstream_links.add(types.SimpleNamespace(builder=builder), env)
    return builder.hyperlinks


def checker():
    builder = CheckExternalLinksBuilder.__new__(CheckExternalLinksBuilder)
    builder.hyperlinks = {}
    return builder


def test_each_file_of_a_public_name_is_checked_once():
    found = given(checker(), ["names", "refs"])
    for definition in public().values():
        assert definition.address().partition("#")[0] in found
    assert all("#" not in address for address in found)
    assert {link.docname for link in found.values()} == {"names"}


def test_a_link_that_a_page_has_as_well_keeps_its_place():
    builder = checker()
    first = upstream_links.files()[0]
    builder.hyperlinks[first] = "as the page has it"
    assert given(builder, ["names"])[first] == "as the page has it"


def test_no_other_builder_and_no_other_book_is_touched():
    html = types.SimpleNamespace(hyperlinks={})
    assert given(html, ["names"]) == {}
    assert given(checker(), ["refs"]) == {}
