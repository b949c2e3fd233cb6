"""`invoke explore --out` and `--replay`: what is printed can be played again."""

from __future__ import annotations

import re

import pytest

from redial.cli.errors import UserError
from redial_lab.commands.explore import explore
from redial_lab.explore.against import WAYS


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


OLD = "sql/examples/tickets/first_try.toml"
NEW = "sql/examples/tickets/mended.toml"


def test_the_old_text_and_the_new_are_compared(capsys):
    assert explore.__wrapped__(file=NEW, against=OLD) == 0
    assert explore.__wrapped__(file=OLD, against=NEW) == 1
    printed = capsys.readouterr().out
    assert f"outcomes only of the new, {NEW}: 0" in printed
    assert re.search(rf"outcomes only of the old, {OLD}: [1-9]", printed)
    assert printed.count("every step needed:") == 1 + WAYS, "to what is violated, and to outcomes"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "is compared with a file"),
        ({"file": NEW, "fewer": True}, "is compared with a file"),
        ({"file": "sql/examples/forum/transaction.toml"}, "old: sale 1, sale 2"),
    ],
)
def test_what_cannot_be_compared_is_refused(more, said):
    with pytest.raises(UserError, match=said):
        explore.__wrapped__(against=OLD, **more)


def test_a_file_to_compare_with_that_is_not_there_is_refused():
    with pytest.raises(UserError, match="nobody"):
        explore.__wrapped__(file=NEW, against="nobody.toml")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"setup": "key=pool"}, "says what is searched"),
        ({"scenario": "article"}, "says what is searched"),
        ({"seed": 7}, "belong to walks"),
        ({"changes": 3}, "belong to walks"),
        ({"out": NEW}, "File exists"),
        ({"replay": "51x2"}, "its end is missing"),
    ],
)
def test_options_that_do_not_go_together_are_refused_before_anything_is_searched(more, said):
    with pytest.raises(UserError, match=said):
        explore.__wrapped__(**({"file": NEW} | more))


def test_a_livelock_is_shown_to_its_end(tmp_path, capsys):
    """Its script for windows would never be done, and says so."""
    (tmp_path / "d.sql").write_text(
        "CREATE DATABASE d;\nGO\nUSE d;\nGO\nCREATE TABLE dbo.t (n int NOT NULL);\nINSERT dbo.t VALUES (1);",
        encoding="utf-8",
    )
    (tmp_path / "f.toml").write_text(
        'name = "spin"\ndatabase = "d"\nscripts = ["d.sql"]\n[[session]]\nname = "a"\n'
        'batches = ["WHILE 1 = 1 UPDATE dbo.t SET n = 5;"]\n',
        encoding="utf-8",
    )
    assert explore.__wrapped__(file=str(tmp_path / "f.toml")) == 1
    printed = capsys.readouterr().out
    assert "a window was not done after 5,000 statements" in printed
    assert "replay: " in printed
