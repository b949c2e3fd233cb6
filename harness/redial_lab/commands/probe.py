"""``invoke probe``: ask a server what no document says; compare it with the broker's choices."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from redial.cli.errors import UserError, command
from redial.cli.server import EMBEDDED, connection_string, named_server
from redial.paths import EVIDENCE
from redial.server import OURS, label_of

LIVE = EVIDENCE / "live"
MARKS = {
    "as expected": "green",
    "differs": "yellow",
    "undecided": "cyan",
    "failed": "red",
    "refused": "red",
}


@command
def probe(
    server: str | None = None, name: str = "", json_file: str = "", evidence: str = ""
) -> int:
    """Run all probes, or the one named; 1 when an answer is not the embedded broker's default.

    server: 'embedded' (virtual time), or an ODBC connection string. json_file: the findings as a
    list. evidence: folder for the record of a real server, evidence/live by default.
    """
    from redial_lab.probe import probes, run

    try:
        chosen = probes(name)
    except KeyError:
        names = ", ".join(p.name for p in probes())
        raise UserError(
            f"--name {name}", "there is no such probe", f"use one of: {names}"
        ) from None
    findings = []
    with _ports(server) as connect:
        for number, one in enumerate(chosen, 1):
            findings.append(run(one, connect))
            _show(findings[-1], number, len(chosen))
    _summary(findings)
    if json_file:
        Path(json_file).write_text(_json(findings), encoding="utf-8")
    version = next((f.version for f in findings if f.version), "")
    if version and OURS not in version:
        print(f"evidence: {record(findings, version, Path(evidence or LIVE))}")
    elif evidence:
        raise UserError(
            "--evidence",
            "the embedded broker's answers settle nothing",
            "run it with --server on a SQL Server",
        )
    return int(any(f.status in {"differs", "failed", "refused"} or f.left_behind for f in findings))


@contextmanager
def _ports(server: str | None) -> Iterator[Callable[[], Any]]:
    """What opens a session of the server."""
    from redial.server import Server, with_database
    from redial_lab.probe.ports import embedded, odbc

    text = named_server(server)
    if text == EMBEDDED:
        yield embedded()
        return
    yield odbc(Server("", with_database(connection_string(text), "master")).connect)


def _show(finding: Any, number: int, total: int) -> None:
    """One line as soon as a probe is over: some take a minute on a server."""
    from rich.console import Console
    from rich.markup import escape

    color = MARKS[finding.status]
    Console().print(
        f"{number:>2}/{total} [{color}]{finding.status:<11}[/] {finding.fact} "
        f"{finding.probe}: {escape(finding.error or finding.observed)}"
        + (" [red](left its database behind; removed)[/]" * finding.left_behind),
        soft_wrap=True,
    )


def _summary(findings: list[Any]) -> None:
    """Only what is not as expected, as a table; then the counts."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    odd = [finding for finding in findings if finding.status != "as expected"]
    if odd:
        table = Table("fact", "probe", "expected", "observed", "settles", title="not as expected")
        for finding in odd:
            settles = "; ".join(f"{n} = {v}" for n, v in finding.settles.items())
            table.add_row(
                *map(
                    escape,
                    (
                        finding.fact,
                        finding.probe,
                        finding.expected,
                        finding.error or finding.observed,
                        settles,
                    ),
                )
            )
        console.print(table)
    counts = ", ".join(
        f"{sum(f.status == mark for f in findings)} {mark}"
        for mark in MARKS
        if any(f.status == mark for f in findings)
    )
    version = next((f.version for f in findings if f.version), "no answer")
    console.print(
        f"{len(findings)} probes on {escape(label_of(version))}: {counts}", soft_wrap=True
    )


def _json(findings: list[Any]) -> str:
    entries = [asdict(finding) | {"status": finding.status} for finding in findings]
    return json.dumps(entries, indent=1, ensure_ascii=False) + "\n"


def record(findings: list[Any], version: str, folder: Path, now: datetime | None = None) -> Path:
    """Write what a real server answered; the file is named by its version and the day (UTC)."""
    number = re.search(r"\d+\.\d+\.\d+\.\d+", version)
    day = (now or datetime.now(UTC)).strftime("%Y-%m-%d")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"probes-{number[0] if number else 'unknown'}-{day}.json"
    path.write_text(_json(findings), encoding="utf-8")
    return path
