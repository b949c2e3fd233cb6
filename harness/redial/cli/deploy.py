"""``invoke deploy``, ``uninstall`` and ``verify``."""

from __future__ import annotations

from redial.cli.configs import load_named
from redial.cli.errors import command
from redial.cli.server import open_server
from redial.deploy import apply, connect_odbc
from redial.deploy import uninstall as remove
from redial.deploy import verify as findings_of


@command
def deploy(
    config: str,
    server: str | None = None,
    database: str | None = None,
    create: bool = False,
    mutant: str | None = None,
    wait_seconds: int | None = None,
) -> int:
    """Install a config and verify it; 1 when verification finds something.

    mutant: a variant of sql/mutants or a design of sql/comparators to install instead, for
    comparison only; there is nothing of ours to verify then.
    """
    model = load_named(config)
    with open_server(server, database, create, must_be_named=True) as target:
        what = f"{config}, COMPARISON ONLY: {mutant}," if mutant else config
        print(f"deploying {what} to {target.label}")
        connect = connect_odbc(target.odbc)
        report = apply(model, connect, _progress, mutant, wait_seconds=wait_seconds)
        print(f"{len(report.files)} files, {report.batches} batches")
        if mutant:
            print("not verified: that looks for the procedures we ship. Next: docs/comparators.md")
            return 0
        findings = findings_of(model, connect)
    for line in findings:
        print(line)
    if not findings:
        print("verified: everything is there and switched on")
    return 1 if findings else 0


@command
def uninstall(
    config: str,
    server: str | None = None,
    database: str | None = None,
    purge_data: bool = False,
    purge_rows: int = 0,
    wait_seconds: int | None = None,
) -> None:
    """Drain and remove a config; tables stay unless ``purge_data``, and rows beyond ``purge_rows``."""
    model = load_named(config)
    with open_server(server, database, must_be_named=True) as target:
        print(f"uninstalling {config} from {target.label}")
        report = remove(
            model,
            connect_odbc(target.odbc),
            purge_data,
            _progress,
            purge_rows=purge_rows,
            wait_seconds=wait_seconds,
        )
        print(f"{len(report.files)} files, {report.batches} batches")


@command
def verify(config: str, server: str | None = None, database: str | None = None) -> int:
    """Look whether an installation is whole; 1 when it is not."""
    model = load_named(config)
    with open_server(server, database, must_be_named=True) as target:
        findings = findings_of(model, connect_odbc(target.odbc))
    for line in findings:
        print(line)
    print(f"{len(findings)} findings on {target.label}")
    return 1 if findings else 0


def _progress(name: str, number: int, total: int) -> None:
    """One line per file: what is being sent is named before it can fail."""
    print(f"  {number:>2}/{total} {name}")
