"""Run one probe: its batches in order whatever fails, and the database gone after it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from redial_lab.probe.model import COLUMNS, Finding, Port, Probe, ProbeError, Row, parse_settles


def run(probe: Probe, connect: Callable[[], Port]) -> Finding:
    """Run ``probe`` in a session of its own; never raises for what the server answers.

    Like sqlcmd without -b it goes on after an error, so the script's own clean-up runs; what that
    leaves is removed, unless the database was there before.
    """
    finding = Finding(probe.name, probe.fact)
    with closing(connect()) as port:
        if leftover(probe, port):
            finding.error = f"database {probe.database} exists already: nothing was done"
            return finding
        rows = [_row(port, batch, finding) for batch in probe.batches()]
    answers = [row for row in rows if row is not None]
    with closing(connect()) as port:
        if leftover(probe, port):
            finding.left_behind = True
            _drop(probe, port)
    if finding.error:
        return finding
    if len(answers) != 1:
        finding.error = f"the probe gave {len(answers)} answers instead of one"
        return finding
    return _answered(finding, answers[0])


def _row(port: Port, batch: str, finding: Finding) -> Row | None:
    """Run one batch; its answer if it gives the row of a probe. The first error is kept."""
    try:
        rows = port.execute(batch)
    except ProbeError as error:
        if not finding.error:
            finding.error, finding.number = error.text, error.number
        return None
    return rows[-1] if rows and len(rows[-1]) == len(COLUMNS) else None


def _answered(finding: Finding, row: Row) -> Finding:
    _, finding.question, finding.expected, observed, settles, finding.version = row
    finding.observed = observed or ""
    try:
        finding.settles = parse_settles(settles)
    except ProbeError as error:
        finding.error = error.text
    return finding


def leftover(probe: Probe, port: Port) -> bool:
    """Whether the probe's database is there."""
    try:
        return port.execute(f"SELECT DB_ID(N'{probe.database}');")[0][0] is not None
    except ProbeError:
        return False


def _drop(probe: Probe, port: Port) -> None:
    for sql in (
        f"ALTER DATABASE {probe.database} SET SINGLE_USER WITH ROLLBACK IMMEDIATE;",
        f"DROP DATABASE {probe.database};",
    ):
        try:
            port.execute(sql)
        except ProbeError:
            return
