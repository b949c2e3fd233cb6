"""``invoke bench``: figures of the embedded broker."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

from rich.console import Console
from rich.table import Table

from redial.cli.errors import UserError, command
from redial.cli.whole import replace_whole
from redial.server import EMBEDDED_LABEL
from redial_lab.bench.compare import Kept, Ratio, checked_out, compare
from redial_lab.bench.peers import PEERS
from redial_lab.bench.run import FIGURES, LONG, measure_all, measure_long
from redial_lab.commands import clone
from redial_lab.git import commit, head

QUICK = "quick"
MACHINE = f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}"


@command
def bench(what: str = QUICK, path: str | None = None, runs: int = 3, against: str = "") -> None:
    """Measure ``quick`` figures ``runs`` times and show the medians, or play one long load.

    what: ``quick`` or a name of ``LONG``. path: a JSON file for the figures. against: a commit, which is
    measured in turns with this code; path then gets a line. Raises UserError.
    """
    if runs < 1:
        raise UserError(f"--runs {runs}", "a figure needs a run", "pass 1 or more")
    if against:
        if what != QUICK:
            raise UserError("--compare", "has its own figures", "leave --what out")
        return _compare(against, runs, path)
    if what not in {QUICK, *LONG}:
        raise UserError(
            f"--what {what}", "there is no such load", f"use one of {', '.join((QUICK, *LONG))}"
        )
    console = Console()
    try:
        if what == QUICK:
            with console.status("") as status:
                found = measure_all(runs, lambda name: status.update(f"measuring {name}"))
            _show(console, found, runs)
        else:
            found = measure_long(what, lambda line: console.print(line, highlight=False))
            _show_long(console, what, found)
    except RuntimeError as error:
        raise UserError("bench", str(error), "invoke demo --quick, to see the cause") from error
    console.print(
        f"repeat: invoke bench{f' --runs {runs}' if what == QUICK else f' --what {what}'}"
        f"{f' --json {path}' if path else ''}"
    )
    if path:
        figures = {name: round(value, 3) for name, value in found.items()} | {
            "what": EMBEDDED_LABEL,
            "machine": MACHINE,
            "runs": runs if what == QUICK else 1,
        }
        Path(path).write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def _compare(ref: str, runs: int, path: str | None) -> None:
    """Show how many times as fast this code is as that of ``ref``. path: gets a line."""
    root = clone("redial bench --compare")
    console = Console()
    try:
        old = commit(root, ref)
    except RuntimeError:
        raise UserError(f"--compare {ref}", "is no commit here", "git log names them") from None
    new = head(root, 12)
    try:
        kept = Kept(Path(path)) if path else None
    except (OSError, ValueError) as error:
        raise UserError(f"--json {path}", str(error), "name another file") from None
    try:
        with checked_out(root, old) as tree, console.status("") as status:
            found = compare(tree, root, runs, status.update)
    except RuntimeError as error:
        raise UserError(
            f"--compare {ref}",
            str(error),
            f"where that is {old[:12]}, name a newer commit; else mend this code",
        ) from error
    table = Table(
        title=f"{new} beside {old[:12]}, medians of {runs} turns\n({EMBEDDED_LABEL})",
        title_justify="left",
    )
    for column in ("figure", "old", "new", "times as fast", "in its turns"):
        left = column == "figure"
        table.add_column(column, justify="left" if left else "right", no_wrap=True)
    for one in found:
        table.add_row(
            one.name,
            _number(one.old),
            _number(one.new),
            f"{one.times:.2f}",
            f"{one.least:.2f} to {one.most:.2f}",
        )
    console.print(table)
    if path and kept:
        replace_whole(Path(path), kept.text(_entry(found, new, old[:12], runs)))


def _entry(found: list[Ratio], new: str, old: str, runs: int) -> dict[str, object]:
    return {
        "new": new,
        "old": old,
        "times_as_fast": {one.name: round(one.times, 3) for one in found},
        "turns": runs,
        "what": EMBEDDED_LABEL,
        "machine": MACHINE,
    }


def _show(console: Console, found: dict[str, float], runs: int) -> None:
    table = Table(title=f"medians of {runs} ({EMBEDDED_LABEL})", title_justify="left")
    for column in ("figure", "value", "unit", "aim", "peer", "what the peer is"):
        table.add_column(column, justify="right" if column in {"value", "peer"} else "left")
    for figure in FIGURES:
        peer = found.get(f"{figure.name}.peer")
        table.add_row(
            figure.name,
            _number(found[figure.name]),
            figure.unit,
            figure.aim,
            "" if peer is None else _number(peer),
            PEERS[figure.peer][0] if figure.peer else "",
        )
    console.print(table)
    ratio = found["protocol.null_server_odbc_1_per_s"] / found["send.odbc_1_per_s"]
    console.print(f"one ODBC connection: the null server is {ratio:.2f} times as fast")


def _show_long(console: Console, what: str, found: dict[str, float]) -> None:
    table = Table(title=f"{what}, one run ({EMBEDDED_LABEL})", title_justify="left")
    table.add_column("figure")
    table.add_column("value", justify="right")
    for name, value in found.items():
        table.add_row(name, _number(value))
    console.print(table)


def _number(value: float) -> str:
    return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"
