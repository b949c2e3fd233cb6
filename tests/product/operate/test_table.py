"""The verdict's table shows every count, and what spoils a run stands out."""

from __future__ import annotations

from rich.console import Console

from redial.operate.table import ROWS, verdict_table
from redial.operate.verdict import Verdict


def shown(verdict: Verdict) -> str:
    console = Console(width=100, color_system="standard", force_terminal=True)
    with console.capture() as capture:
        console.print(verdict_table(verdict, "verdict"))
    return capture.get()


def test_every_count_of_the_verdict_has_a_row():
    counts = set(vars(Verdict())) - {"problems"}
    assert {name for name, _, _ in ROWS} == counts


def test_a_clean_run_has_nothing_red():
    assert "\x1b[1;31m" not in shown(Verdict(sent=1_000, landed=1_000, recycled=7))


def test_a_loss_is_red_and_so_is_what_did_not_land():
    text = shown(Verdict(sent=1_000, landed=999, lost=1))
    assert text.count("\x1b[1;31m") == 2
    assert "1,000" in text
