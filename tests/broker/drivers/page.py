"""``python -m tests.broker.drivers.page`` runs every probe; it writes
docs/generated/drivers.md from the reports.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from redial.paths import PAGES

from .capabilities import (
    CAPABILITIES,
    DIALECT_CAPABILITIES,
    DIALECTS,
    DRIVERS,
    REFUSED,
    Driver,
    expected,
)
from .runner import Missing, report

PAGE = PAGES / "drivers.md"
_SIGNS = {"yes": "yes", "refused": "refused", "none": "-", "fault": "fault"}

_HEAD = """# Drivers

This page shows what each driver did against the embedded broker when the page was made. The
command `python -m tests.broker.drivers.page` writes it from what the probes in
`tests/broker/drivers` saw. The tests there run the same
probes. A test fails if its probe sees something else than the cell below promises.

- **yes**: the check passed.
- **refused**: the broker refuses, and says so.
- **-**: the driver has no such thing.
- **fault**: the fault is the driver's own; its check runs and must fail.

Numbers in brackets lead to the notes.
"""


_LIMITS = """Limits of the embedded broker that a client can meet:

- pyodbc holds Python's interpreter lock while it asks the server about table-valued parameters and
  for fast_executemany. If `EmbeddedBroker` runs in the same process, pyodbc then waits for ever.
  `BrokerProcess` runs the broker in a process of its own.
- A request may have 256 MB. A client that leaves 1 GB of its answer unread is cut off.
- The broker speaks TDS 7.2 to 7.4 and 8.0. It has no federated authentication, no session recovery,
  no distributed transactions, and no change of password at login.
- Server cursors are read-only. Forward-only and static cursors read their rows when they are
  opened, and keyset cursors read them at each fetch. Dynamic and updatable cursors are refused.
"""


def outcome(driver: str, capability: str, found: dict[str, Any]) -> str:
    """The outcome of a cell as seen: a failed check of a known fault is the fault."""
    promised = expected(driver, capability).outcome
    if promised == "none":
        return "none"
    seen = found.get(capability, {}).get("outcome", "missing")
    return "fault" if (promised, seen) == ("fault", "failed") else seen


def table(
    rows: dict[str, str], columns: dict[str, Driver], reports: dict[str, dict], notes: list[str]
) -> list[str]:
    """The Markdown lines of one table; what needs a word is added to ``notes``."""
    lines = [
        "| | " + " | ".join(driver.title for driver in columns.values()) + " |",
        "|---|" + "---|" * len(columns),
    ]
    for capability, title in rows.items():
        cells = []
        for driver in columns:
            seen = outcome(driver, capability, reports[driver])
            why = expected(driver, capability).why
            if why and why not in notes:
                notes.append(why)
            cells.append(_SIGNS.get(seen, seen) + (f" [{notes.index(why) + 1}]" if why else ""))
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return lines


def seen_lines(
    rows: dict[str, str], columns: dict[str, Driver], reports: dict[str, dict]
) -> list[str]:
    """What each check reported, driver by driver, grouped where drivers say the same."""
    lines = []
    for capability, title in rows.items():
        said: dict[str, list[str]] = {}
        for driver, column in columns.items():
            entry = reports[driver].get(capability)
            if entry is not None and entry["outcome"] == "yes":
                text = " ".join(entry["saw"].split())[:160].rstrip(".")
                if capability != "large" and text and not text.startswith("("):
                    said.setdefault(text, []).append(column.title)
        if said:
            parts = [f"{', '.join(names)}: {text}" for text, names in said.items()]
            lines.append(f"- {title}. " + "; ".join(parts) + ".")
    return lines


def page(reports: dict[str, dict]) -> str:
    """The whole page."""
    notes: list[str] = []
    main = table(CAPABILITIES, DRIVERS, reports, notes)
    dialects = table(DIALECT_CAPABILITIES, DIALECTS, reports, notes)
    refusals = [f"- {CAPABILITIES[name]}: {why}." for name, why in REFUSED.items()]
    return "\n".join(
        [
            _HEAD,
            *main,
            "",
            "## SQLAlchemy",
            "",
            *dialects,
            "",
            "## Notes",
            "",
            *[f"{number}. {note}." for number, note in enumerate(notes, 1)],
            "",
            _LIMITS,
            "Refused to every driver:",
            "",
            *refusals,
            "",
            "## What the checks saw",
            "",
            *seen_lines(CAPABILITIES, DRIVERS, reports),
            *seen_lines(DIALECT_CAPABILITIES, DIALECTS, reports),
            "",
        ]
    )


def main() -> int:
    """Run the probes and write the page; names what is missing on this machine and writes none."""
    reports = {}
    with tempfile.TemporaryDirectory() as folder:
        for driver in [*DRIVERS, *DIALECTS]:
            try:
                reports[driver] = report(driver, Path(folder))
            except Missing as problem:
                print(f"{driver}: {problem}", file=sys.stderr)
                return 1
    PAGE.write_text(page(reports), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
