"""What the server says meanwhile reaches whoever deploys, as it says it, and stays with the attempt."""

from __future__ import annotations

import re

import pytest

from redial.cli.deploy import deploy
from redial.cli.history import history
from redial.config import load
from redial.deploy import DeployError, apply, uninstall
from redial.deploy.apply import check
from redial.odbc import said
from redial.paths import CONFIGS

from .conftest import run
from .fake import FakeServer

AUDIT = load(CONFIGS / "audit.toml")
TAGS = "[Microsoft][ODBC Driver 18 for SQL Server][SQL Server]"
MARK = "CREATE QUEUE ["
"""Of a batch that a deployment sends."""


def word(text: str, number: int = 0) -> tuple[str, str]:
    """As pyodbc keeps it."""
    return (f"[01000] ({number})", f"{TAGS}{text}")


def test_the_words_of_each_result_are_heard_in_their_order_without_the_drivers_name():
    server, heard = FakeServer(), []
    server.says = {
        MARK: [[word("first"), word("[SQL Server] is its name", 50000)], [], [word("last")]]
    }
    report = apply(AUDIT, server.connect, heard=heard.append)
    assert heard[:3] == ["first", "[SQL Server] is its name", "last"] and report.said == heard


def test_what_a_server_says_of_every_deployment_is_not_repeated():
    server, heard = FakeServer(), []
    told = "Changed database context to 'x'."
    server.says = {MARK: [[word(told, 5701), word("depends on a missing object", 2007), word(" ")]]}
    apply(AUDIT, server.connect, heard=heard.append)
    assert heard == []


def test_words_in_front_of_an_error_are_heard_before_it_is_raised():
    server, heard = FakeServer({MARK: ("[42000] late (50001) (SQLMoreResults)", 1)}), []
    server.says = {MARK: [[word("what led to it")]]}
    with pytest.raises(DeployError, match="late"):
        apply(AUDIT, server.connect, heard=heard.append)
    assert heard == ["what led to it"]


def test_a_removal_is_heard_too():
    server, heard = FakeServer(), []
    server.says = {"DROP": [[word("kept")]]}
    uninstall(AUDIT, server.connect, heard=heard.append)
    assert "kept" in heard


def test_a_driver_that_keeps_no_words_says_nothing():
    assert said(object()) == []


class Sized(FakeServer):
    """One whose check prints what its error has no room for."""

    def __init__(self) -> None:
        lines = [f" ({number}) This is in the way." for number in (1, 2, 3)]
        first = (
            f"3 things are in the way, and nothing was done.{lines[0]} 2 more are printed above."
        )
        super().__init__({"@found": (f"[42000] {TAGS}{first} (50221) (SQLMoreResults)", 1)})
        self.says = {"@found": [[word(line) for line in lines]]}


def test_what_is_printed_above_a_refusal_stands_in_it():
    from redial.render import render

    with pytest.raises(DeployError) as refused:
        check(Sized().connect(), render(AUDIT))
    assert refused.value.number == 50221
    assert refused.value.text == (
        "3 things are in the way, and nothing was done. (1) This is in the way. "
        "(2) This is in the way. (3) This is in the way."
    )


def status_of(function, *arguments, **options) -> int:
    """Exit status of a command."""
    try:
        function(*arguments, **options)
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


@pytest.mark.driver
def test_jobs_that_could_not_be_made_are_told_by_deploy_and_by_the_history_of_the_attempt(
    site, capsys
):
    assert status_of(deploy, "logging", server=site.empty) == 0
    lines = capsys.readouterr().out.splitlines()
    heard = [line for line in lines if line.startswith("  server: ")]
    assert heard and len(set(heard)) == len(heard)
    assert all(re.search(r"No right to make Agent jobs.*Schedule yourself", line) for line in heard)
    assert lines[lines.index(heard[0]) - 1].endswith("92_agent_jobs.job.sql")
    [(kept,)] = run(site.empty, "SELECT Message FROM logging.DeploymentAttempt;")
    told = heard[0].removeprefix("  server: ")
    assert kept.startswith("The server said: ") and told in kept
    status_of(history, "logging", server=site.empty)
    assert "The server said" not in capsys.readouterr().out
    status_of(history, "logging", server=site.empty, attempt=1)
    assert told in capsys.readouterr().out


@pytest.mark.driver
def test_a_deployment_with_nothing_to_say_says_nothing(site, capsys):
    assert status_of(deploy, "audit", server=site.empty) == 0
    assert "server:" not in capsys.readouterr().out
