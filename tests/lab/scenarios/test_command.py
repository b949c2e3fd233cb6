"""invoke scenario: bad input is named, any server is told the same story as the embedded one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from redial.cli.errors import UserError
from redial.cli.server import broker_process, create_database
from redial.paths import SQL
from redial.render import mutant_names
from redial.server import Server, with_database
from redial_lab.commands import scenario as module
from redial_lab.commands.scenario import scenario
from redial_lab.scenarios.all import SCENARIOS, STORIES, summary
from redial_lab.scenarios.odbc import OdbcPort
from redial_lab.scenarios.story import Expected, Scenario, told
from tests.lab.scenarios.lab import VirtualPort


def failed(capsys, *arguments, **named) -> str:
    with pytest.raises(SystemExit) as exit_:
        scenario(*arguments, **named)
    assert exit_.value.code == 1
    return capsys.readouterr().err


def test_the_list_names_every_story_with_its_first_sentence(capsys):
    scenario("list")
    out = capsys.readouterr().out
    assert len(SCENARIOS) == len(STORIES) > 0
    for name in SCENARIOS:
        assert name in out and summary(name).endswith((".", ":"))


def test_every_story_has_a_mutant_that_exists():
    assert {story.mutant for story in SCENARIOS.values()} <= set(mutant_names(SQL))


TESTS = "".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_story_is_told_clean_and_with_its_mutant_in_a_test(name):
    assert re.search(rf'(clean\(|verdict\(|SCENARIOS\[)\s*"{name}"', TESTS), "a test with clean()"
    assert re.search(rf'caught\(\s*"{name}"', TESTS), "a test with caught()"


def test_an_unknown_scenario_is_refused_with_the_names_there_are(capsys):
    words = failed(capsys, "storm")
    assert "'storm': there is no such scenario" in words and "deadlock-storm" in words


def test_an_unknown_mutant_is_refused_before_anything_is_installed(capsys):
    assert "--mutant nonsense" in failed(capsys, "poison", mutant="nonsense")


def test_a_server_that_is_no_connection_string_is_refused(capsys):
    assert "is not understood" in failed(capsys, "poison", server="mssql://x")


class Admin:
    """A connection that answers by a table."""

    def __init__(self, rights=1, database=None):
        self.rights, self.database, self.said = rights, database, []

    def execute(self, sql):
        self.said.append(sql)
        return self

    def fetchone(self):
        last = self.said[-1]
        return (
            (self.rights,)
            if "HAS_PERMS" in last
            else (self.database,)
            if "DB_ID" in last
            else ("Microsoft SQL Server 2022\nx",)
        )


def test_missing_rights_are_named_before_a_database_is_made():
    admin = Admin(rights=0)
    with pytest.raises(UserError, match="CREATE ANY DATABASE, ALTER ANY CONNECTION, VIEW SERVER"):
        module._ready(admin, "redial_scenario_x")
    assert not any("CREATE DATABASE" in sql for sql in admin.said)


def test_a_database_of_that_name_is_never_used_or_dropped():
    admin = Admin(database=7)
    with pytest.raises(UserError, match="is there already"):
        module._ready(admin, "redial_scenario_x")
    assert not any("DROP" in sql or "CREATE DATABASE" in sql for sql in admin.said)


def test_a_new_database_is_labelled_by_its_server():
    assert module._ready(Admin(), "redial_scenario_x") == "Microsoft SQL Server 2022"


def small(story) -> None:
    """Two callers; one is killed with a transaction open."""
    one, two = story.sender(), story.sender()
    story.together([one, two], 4, in_transaction=2)
    one.begins()
    story.together([one], 1)
    assert story.kill(one.client.session)
    story.together([one], 1)
    story.together([one, two], 2)


SMALL = Scenario(
    "small",
    small,
    mutant="",
    expected=Expected(kills=True),
    changes={"timer": {"after_seconds": 1, "spread_seconds": 0, "retry_seconds": 1}},
)


@pytest.mark.driver
def test_the_same_story_over_odbc_has_the_same_verdict_as_in_process():
    embedded = told(SMALL, VirtualPort())
    with broker_process() as broker:
        create_database(broker.odbc, "small")
        port = OdbcPort(Server("by ODBC", with_database(broker.odbc, "small")))
        by_odbc = told(SMALL, port)
    assert embedded.problems == by_odbc.problems == []
    for found in (embedded, by_odbc):
        assert (found.attempted, found.acknowledged, found.landed) == (14, 12, 12)
