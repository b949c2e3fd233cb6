"""Coverage-guided fuzzing in its bounded form; ``python tools/fuzz.py`` runs it for longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sampling import full
from tools.fuzz import MEMORY_MB, NAMES, RUNS, Report, missing, run, show

INPUTS = 1_000 if full() else 300
ROOMS = {"packets": "redial_broker.tds", "parser": "redial.tsql", "statements": "redial.tsql"}
"""Whose edges guide a target here. With --full all of ours do: to instrument them takes half a minute
for each target. That matters to what is mutated, and with the statements these are the corpus."""


def fuzzed(target: str, inputs: int, corpus: Path) -> Report:
    """A run as large as there is time for."""
    return run(target, inputs, seed=1, corpus=corpus, rooms="" if full() else ROOMS[target])


pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.mark.parametrize("target", NAMES)
def test_every_input_is_answered_in_time_and_in_bounded_memory(target, tmp_path):
    print(f"scale: {INPUTS} inputs of {RUNS}")
    report = fuzzed(target, INPUTS, tmp_path)
    show([report])
    assert report.crash == ""
    assert report.figures["inputs"] >= INPUTS
    assert 0 < report.figures["peak MB"] < MEMORY_MB
    assert report.figures["edges"] > 0


def test_a_crash_is_reported_with_its_input(tmp_path, monkeypatch):
    """The tool can fail: a target that refuses a word of its own corpus ends with the reason."""
    monkeypatch.setenv("REDIAL_FUZZ_PLANT", "DIALOG")
    report = fuzzed("parser", 500, tmp_path)
    assert "planted" in report.crash
    assert "input: " in report.crash
