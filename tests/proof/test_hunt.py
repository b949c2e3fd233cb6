"""docs/mutants.md is not stale, and a sample of what it says of generated mutants is so."""

from __future__ import annotations

import pytest

from harness.proof.hunt import hunt, prepare
from harness.proof.hunting import all_names
from harness.proof.mutants_page import HEAD, Reason, kept, reason_of, register, stale, text

CASES = ("xact_abort", "wrong calls", "first send")
FOUND = kept()[1]
SAMPLE = [name for name, each in FOUND.items() if each.case in CASES]


@pytest.fixture(scope="module")
def cases():
    return prepare(CASES)


@pytest.mark.sampled(every=40)
@pytest.mark.parametrize("name", SAMPLE)
def test_a_generated_mutant_is_found_again(name, cases):
    found = hunt(name, cases)
    assert found.claim, found


def test_the_page_and_the_register_name_the_mutants_there_are_now():
    assert not stale(all_names())


def test_a_survivor_without_an_entry_is_open():
    assert reason_of("usp_X.never.it", register()).verdict == "open"
    known = Reason(("usp_X.*",), "equivalent", "said")
    assert reason_of("usp_X.never.it", [known]) is known


def test_what_the_page_says_can_be_read_from_it_again(tmp_path):
    rows, found = kept()
    path = tmp_path / "mutants.md"
    path.write_text(text(rows, found.values(), register()), "utf-8")
    assert kept(path) == (rows, found)
    assert path.read_text("utf-8").startswith(HEAD[:60])
