"""Every driver does what the matrix promises, one test per cell; docs/generated/drivers.md says the same."""

from __future__ import annotations

import fcntl
import json
import re

import pytest

from tests.sampling import full

from . import stage
from .capabilities import (
    CAPABILITIES,
    DIALECT_CAPABILITIES,
    DIALECTS,
    DRIVERS,
    EXPECTED,
    expected,
)
from .page import PAGE
from .runner import Missing, report

_REPORTS: dict = {}


def large(driver):
    """Bytes of a driver's large value: as on the page with the first, and with each by --full."""
    return stage.LARGE if full() or driver == next(iter(DRIVERS)) else stage.DAILY_LARGE


def report_of(driver, tmp_path_factory, worker_id):
    """The driver's report: made once per run, by whichever worker asks first."""
    if driver in _REPORTS:
        return _REPORTS[driver]
    folder = tmp_path_factory.getbasetemp()
    if worker_id != "master":
        folder = folder.parent
    kept = folder / f"{driver}.json"
    with (folder / f"{driver}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            try:
                found = report(driver, folder, large(driver))
            except Missing as problem:
                found = {"missing": str(problem)}
            kept.write_text(json.dumps(found))
        found = _REPORTS[driver] = json.loads(kept.read_text())
    return found


@pytest.fixture
def reported(tmp_path_factory, request):
    worker = getattr(request.config, "workerinput", {}).get("workerid", "master")

    def of(driver):
        found = report_of(driver, tmp_path_factory, worker)
        if "missing" in found:
            pytest.skip(found["missing"])
        return found

    return of


def cells():
    for columns, rows in ((DRIVERS, CAPABILITIES), (DIALECTS, DIALECT_CAPABILITIES)):
        for driver, column in columns.items():
            for capability in rows:
                promised = expected(driver, capability)
                if promised.outcome == "none":
                    continue
                marks = [pytest.mark.driver, getattr(pytest.mark, column.marker)]
                if promised.outcome == "fault":
                    marks.append(pytest.mark.xfail(strict=True, reason=promised.why))
                yield pytest.param(driver, capability, marks=marks, id=f"{driver}-{capability}")


@pytest.mark.parametrize(("driver", "capability"), list(cells()))
def test_the_driver_can(reported, driver, capability):
    found = reported(driver)
    entry = found.get(capability)
    assert entry is not None, f"the probe did not get there: {found['end']['error']}"
    promised = expected(driver, capability).outcome
    assert entry["outcome"] == ("yes" if promised == "fault" else promised), entry["saw"]


@pytest.mark.parametrize(
    "driver",
    [
        pytest.param(name, marks=[pytest.mark.driver, getattr(pytest.mark, column.marker)])
        for name, column in {**DRIVERS, **DIALECTS}.items()
    ],
)
def test_nothing_is_left_behind_and_nothing_else_was_tried(reported, driver):
    found = reported(driver)
    end = found.pop("end")
    assert (end["sessions"], end["locks"]) == (0, 0), end
    rows = CAPABILITIES if driver in DRIVERS else DIALECT_CAPABILITIES
    promised = {name for name in rows if expected(driver, name).outcome != "none"}
    assert set(found) == promised


def test_every_exception_of_the_matrix_is_about_a_cell_there_is():
    for driver, capability in EXPECTED:
        assert driver in DRIVERS and capability in CAPABILITIES


def test_the_page_shows_what_the_matrix_promises():
    """Without running anything: each cell of docs/generated/drivers.md against the promise."""
    drivers, dialects = PAGE.read_text(encoding="utf-8").split("## SQLAlchemy")
    for text, columns, rows in (
        (drivers, DRIVERS, CAPABILITIES),
        (dialects, DIALECTS, DIALECT_CAPABILITIES),
    ):
        for capability, title in rows.items():
            line = re.search(rf"^\| {re.escape(title)} \| (.*) \|$", text, re.M)
            assert line is not None, title
            shown = [re.sub(r" \[\d+\]$", "", cell) for cell in line[1].split(" | ")]
            promised = [expected(driver, capability).outcome for driver in columns]
            said = ["-" if one == "none" else one for one in promised]
            assert shown == said, f"{title}; next: python -m tests.broker.drivers.page"
