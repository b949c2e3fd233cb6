"""The verdict as a table for the terminal."""

from __future__ import annotations

from rich.table import Table

from redial.operate.verdict import Verdict

ROWS = (
    ("sent", "messages whose callers were told so", None),
    ("landed", "of them in the Landing table", None),
    ("pending", "in the transmission or target queue", 0),
    ("dead_lettered", "kept with code and reason", 0),
    ("lost", "nowhere", 0),
    ("duplicated", "landed again", 0),
    ("out_of_order", "within their conversation", 0),
    ("dialogs_begun", "", None),
    ("recycled", "EndOfStream sent", None),
    ("closed", "ended on both sides", None),
    ("leaked", "alive, and nobody will end them", 0),
    ("deadlocks", "", 0),
    ("sender_errors", "errors callers saw, retried or not", 0),
)
"""Field, what it counts, and the value it must have in a clean run (None: any)."""


def verdict_table(verdict: Verdict, title: str) -> Table:
    """One row per count; a count that spoils the verdict is red."""
    table = Table(title=title, title_justify="left")
    table.add_column("")
    table.add_column("count", justify="right")
    table.add_column("")
    for name, meaning, wanted in ROWS:
        value = getattr(verdict, name)
        bad = (wanted is not None and value != wanted) or (
            name == "landed" and value != verdict.sent
        )
        shown = f"{value:,}"
        table.add_row(name.replace("_", " "), f"[bold red]{shown}[/]" if bad else shown, meaning)
    return table
