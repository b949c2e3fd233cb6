"""Every notebook of docs/notebooks runs from top to bottom, in the tests' own Spark session.

A kernel of its own would start another JVM for each; a cell here is what a kernel executes, since
no notebook uses a magic. The outputs they are committed with came from a kernel. That the wheel is
enough is tried in tests/product/test_package.py, in full runs; here its folder is empty, and what a
notebook imports is looked at.
"""

from __future__ import annotations

import json

import pytest

from redial.paths import ROOT
from tests.spark.test_extra import imported, installed, name_of

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
def test_the_notebook_runs_in_an_empty_folder(spark, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
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
def test_the_notebook_imports_nothing_but_what_it_says_to_install(name):
    """The lab is in the wheel, and works with an extra of its own."""
    code = "\n".join("".join(cell["source"]) for cell in cells(name))
    asked = set(installed("spark", "broker")) | {"redial-broker"}
    assert sorted(n for n in imported(code) if name_of(n) not in asked) == []
    text = (FOLDER / name).read_text(encoding="utf-8")
    extras = "[spark,broker]" if "redial_broker" in code else "[spark]"
    assert f"pip install 'FILE.whl{extras}'" in text


@pytest.mark.parametrize("name", NAMES)
def test_the_notebook_is_committed_with_small_outputs_and_no_failure(name):
    assert (FOLDER / name).stat().st_size < SIZE
    kinds = {out["output_type"] for cell in cells(name) for out in cell["outputs"]}
    assert kinds and "error" not in kinds
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert "WARN" not in text and "/work/" not in text and "/tmp/" not in text


def test_there_are_two():
    assert NAMES == ["audit_a_day.ipynb", "send_and_watch.ipynb"]
