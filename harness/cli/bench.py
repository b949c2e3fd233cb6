"""``invoke bench``: figures of the embedded broker."""

from __future__ import annotations

import json
import platform
from pathlib import Path

from rich.console import Console
from rich.table import Table

from harness.bench.run import FIGURES, measure_all
from harness.cli.errors import UserError, command
from harness.cli.server import LABEL


@command
def bench(path: str | None = None, runs: int = 3) -> None:
    """Measure every figure ``runs`` times, show the medians, write them to ``path`` as JSON."""
    if runs < 1:
        raise UserError(f"--runs {runs}", "a figure needs a run", "pass 1 or more")
    console = Console()
    try:
        with console.status("") as status:
            found = measure_all(runs, lambda name: status.update(f"measuring {name}"))
    except RuntimeError as error:
        raise UserError("bench", str(error), "invoke demo --quick, to see the cause") from error
    table = Table(title=f"medians of {runs} ({LABEL})", title_justify="left")
    for column in ("figure", "value", "unit", "aim"):
        table.add_column(column, justify="right" if column == "value" else "left")
    for figure in FIGURES:
        value = found[figure.name]
        table.add_row(figure.name, f"{value:,.2f}" if value < 100 else f"{value:,.0f}",
                      figure.unit, figure.aim)  # fmt: skip
    console.print(table)
    ratio = found["protocol.null_server_odbc_1_per_s"] / found["send.odbc_1_per_s"]
    console.print(f"one ODBC connection: the null server is {ratio:.2f} times as fast")
    console.print(f"repeat: invoke bench --runs {runs}{f' --json {path}' if path else ''}")
    if path:
        figures = {name: round(value, 3) for name, value in found.items()} | {
            "what": LABEL,
            "machine": f"{platform.machine()}, Python {platform.python_version()}",
            "runs": runs,
        }
        Path(path).write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
