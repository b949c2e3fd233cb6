"""Every notebook of docs/notebooks runs from top to bottom, in the tests' own Spark session.

A kernel of its own would start another JVM for each; a cell here is what a kernel executes, since
no notebook uses a magic. The outputs they are committed with came from a kernel.
"""

from __future__ import annotations

import json

import pytest

from redial.paths import ROOT

FOLDER = ROOT / "docs" / "notebooks"
NAMES = sorted(path.name for path in FOLDER.glob("*.ipynb"))
SIZE = 60_000
"""Bytes of a notebook with its outputs, at most."""

pytestmark = [pytest.mark.jvm, pytest.mark.driver]


def cells(name: str) -> list[dict]:
    found = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    assert found["nbformat"] == 4
    return [cell for cell in found["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("name", NAMES)
def test_the_notebook_runs(spark, name):
    namespace: dict = {"__name__": "__main__"}
    try:
        for number, cell in enumerate(cells(name)):
            code = compile("".join(cell["source"]), f"{name}, code cell {number}", "exec")
            exec(code, namespace)
    finally:
        if "broker" in namespace:
            namespace["broker"].stop()
    assert namespace["landed"].columns  # it came to its end


@pytest.mark.parametrize("name", NAMES)
def test_the_notebook_is_committed_with_small_outputs_and_no_failure(name):
    assert (FOLDER / name).stat().st_size < SIZE
    kinds = {out["output_type"] for cell in cells(name) for out in cell["outputs"]}
    assert kinds and "error" not in kinds
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert "WARN" not in text and "/work/" not in text and "/tmp/" not in text


def test_there_are_two():
    assert NAMES == ["audit_a_day.ipynb", "send_and_watch.ipynb"]
