"""docs/generated/features.md: no row without a proof, no proof of a row there is none of, never stale."""

from __future__ import annotations

import pytest

from redial_lab.pages.features.page import (
    PAGE,
    FeatureError,
    named,
    page,
    proofs,
    unproven,
    variants_line,
)
from redial_lab.pages.features.rows import PEERS, ROWS


def test_every_row_has_a_test():
    assert unproven(proofs()) == []


def test_the_committed_page_is_what_the_tests_say():
    assert PAGE.read_text("utf-8") == page(proofs(), variants_line()), "next: invoke pages"


def test_a_row_that_no_test_names_is_found():
    assert unproven([]) == [row.name for row in ROWS]


def test_a_docstring_with_an_unknown_row_is_refused(tmp_path):
    (tmp_path / "tests").mkdir()
    said = '"Feat' + 'ure telepathy: seed 004"'
    (tmp_path / "tests" / "test_x.py").write_text(f"def test_x():\n    {said}\n")
    with pytest.raises(FeatureError, match=r"tests/test_x\.py: test_x names no row: 'telepathy'"):
        proofs(tmp_path / "tests")


def test_a_docstring_may_name_several_rows():
    text = "idempotent deploy,\n rollback / uninstall and EndOfStream, target ends first"
    assert len(named(text)) == 3


def test_the_peers_of_each_row_are_those_of_the_list():
    for row in ROWS:
        listed = [*row.have.split(), *row.partly.split()]
        assert set(listed) <= PEERS.keys() and len(set(listed)) == len(listed), row.name
