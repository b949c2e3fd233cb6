"""Arbitrary arguments in their bounded form; ``python tools/fuzz_arguments.py`` runs 20,000 and more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from redial_broker.exec.functions.registry import FUNCTIONS
from tests.sampling import full
from tests.waiting import HANGS
from tools import fuzz_arguments
from tools.fuzz_arguments import ROOT, RUNS, fuzz
from tools.fuzzing.arguments import Statements

INPUTS = 3_000 if full() else 300


def test_every_input_gets_a_result_or_an_error_of_the_server():
    print(f"scale: {INPUTS} inputs of {RUNS}")
    found = fuzz(seed=9, first=0, inputs=INPUTS)
    assert found.inputs == INPUTS
    assert found.results > INPUTS // 20  # not every statement stops at its first argument
    assert len(found.errors) > 20
    assert found.defects == {}
    assert found.slow == []


@pytest.mark.breaks_the_broker
def test_a_defect_is_reported_once_with_where_it_was_raised(monkeypatch):
    """The tool can fail: a function that divides by nothing is named with its line."""

    def broken(_call: object) -> object:
        return 1 // 0

    for name in FUNCTIONS:
        monkeypatch.setitem(FUNCTIONS, name, (0, 9, broken))
    found = fuzz(seed=9, first=0, inputs=12)
    assert len(found.defects) == 1
    said, (number, text) = found.defects.popitem()
    assert said.startswith("__init__.py:")  # the line that called it
    assert "ZeroDivisionError" in said
    assert text == Statements(9)[number]


def test_an_input_that_takes_too_long_is_reported(monkeypatch):
    monkeypatch.setattr(fuzz_arguments, "SLOW_S", -1.0)
    assert len(fuzz(seed=9, first=0, inputs=2).slow) == 2


def test_a_seed_and_a_number_are_always_the_same_statement():
    assert [Statements(4)[n] for n in range(12)] == [Statements(4)[n] for n in range(12)]
    assert Statements(4)[0] != Statements(5)[0]


def test_the_command_prints_a_statement_by_its_number():
    told = subprocess.run(
        [
            sys.executable,
            str(Path(ROOT) / "tools" / "fuzz_arguments.py"),
            "--seed",
            "4",
            "--show",
            "3",
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=HANGS,
    )
    assert told.stdout.strip() == Statements(4)[3].strip()
