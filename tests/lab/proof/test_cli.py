"""`invoke explore --out` and `--replay`: what is printed can be played again."""

from __future__ import annotations

import re

import pytest

from redial.cli.errors import UserError
from redial_lab.commands.explore import explore


def test_a_violation_is_kept_and_its_word_replays_it(tmp_path, capsys):
    assert explore.__wrapped__("shared_dialog", out=str(tmp_path)) == 1
    printed = capsys.readouterr().out
    assert "windows: played on the embedded broker by 3 sessions: meets 'two dialogs'" in printed
    kept = sorted(path.suffix for path in tmp_path.iterdir())
    assert kept == [".html", ".sql", ".sql", ".txt"], "one is the installation"
    word = re.search(r"replay: (\S+)", printed)[1]
    assert f"invoke explore --scenario shared_dialog --replay {word}" in next(
        tmp_path.glob("*.html")
    ).read_text(encoding="utf-8")
    assert explore.__wrapped__("shared_dialog", replay=word) == 1
    again = capsys.readouterr().out
    assert "=> two dialogs" in again
    assert f"replay: {word}" in again


def test_a_word_of_another_scenario_is_refused():
    with pytest.raises(UserError, match="session 99 cannot run there"):
        explore.__wrapped__("shared_dialog", replay="99")
