"""``redial uninstall`` says first what it would end, drop, keep and lose."""

from __future__ import annotations

import pytest

from redial.cli.deploy import deploy, drift, plan, verify
from redial.cli.history import baseline, repair, rollback
from redial.cli.uninstalling import uninstall
from tests.product.sql.lab import send

from .conftest import run, status_of

pytestmark = pytest.mark.driver
ERROR, CHANGES = 1, 2
OBJECTS = "SELECT COUNT(*) FROM sys.objects WHERE schema_id = SCHEMA_ID(N'audit');"
LETTER = (
    "INSERT INTO audit.DeadLetter (Side, ConversationHandle, MessageSequence) "
    "VALUES (N'target', NEWID(), 7);"
)


def test_without_the_name_only_the_plan_is_shown(site, capsys):
    run(site.server, LETTER)
    run(site.server, "CREATE TABLE audit.Mine (A int NOT NULL); INSERT INTO audit.Mine VALUES (1);")
    before = run(site.server, OBJECTS)
    assert status_of(uninstall, server=site.server) == CHANGES
    said = capsys.readouterr().out
    assert "uninstall: configuration audit, database site on embedded broker" in said
    assert "2 queue" in said and "2 service" in said and "1 contract" in said
    assert "keeps    3 role, 1 schema, 17 table, 1 user" in said
    assert "keeps    rows: 1 DeadLetter" in said and "not ours, stays: table Mine" in said
    assert "Next: redial uninstall --config audit --yes audit\n" in said
    # 1. with the data, what is lost, and the words that lose it
    assert status_of(uninstall, server=site.server, purge_data=True) == CHANGES
    said = capsys.readouterr().out
    assert "LOSES    rows: 1 DeadLetter" in said
    assert "--yes audit --purge-data --purge-rows 1\n" in said
    assert (
        "keeps    1 schema, 1 user" in said and "stays    schema audit: table Mine is in it" in said
    )
    assert run(site.server, OBJECTS) == before
    assert status_of(verify, server=site.server) == 1  # the table of somebody's


def test_rows_beyond_the_number_said_are_not_dropped(site, capsys):
    run(site.server, LETTER)
    options = {"server": site.server, "purge_data": True, "yes": "audit"}
    before = run(site.server, OBJECTS)
    assert status_of(uninstall, **options) == ERROR
    assert "50143" in capsys.readouterr().err
    assert run(site.server, "SELECT COUNT(*) FROM audit.DeadLetter;") == [(1,)]
    # 0. and nothing else was touched: it said so, and had dropped all but the tables
    assert run(site.server, OBJECTS) == before
    assert status_of(verify, server=site.server) == 0
    assert status_of(uninstall, **options, purge_rows=1) == 0
    assert run(site.server, "SELECT COUNT(*) FROM sys.schemas WHERE name = N'audit';") == [(0,)]
    # 1. again: there is nothing, and that is no success
    assert status_of(uninstall, **options) == ERROR
    said = capsys.readouterr().err
    assert "uninstall of audit from database site" in said and "nothing of it is there" in said


def test_another_name_is_an_error_and_so_is_a_wrong_database(site, capsys):
    assert status_of(uninstall, server=site.server, yes="etl") == ERROR
    assert "is not the configuration's name, 'audit'; nothing was done" in capsys.readouterr().err
    for options in ({}, {"yes": "audit"}, {"yes": "audit", "purge_data": True}):
        assert status_of(uninstall, server=site.empty, **options) == ERROR
        said = capsys.readouterr().err
        assert "uninstall of audit from database bare" in said
        assert "nothing of it is there (schema [audit])" in said and "Next: " in said


def test_the_script_can_be_had_without_a_server(capsys):
    assert status_of(uninstall, print_only=True, purge_data=True, purge_rows=12) == 0
    said = capsys.readouterr().out
    assert said.startswith("EXECUTE sys.sp_set_session_context N'redial.purge_rows', 12;\nGO\n")
    order = ["/* purge_data.sql, counting */", "/* uninstall.sql */", "/* purge_data.sql */"]
    assert [said.index(part) for part in order] == sorted(said.index(part) for part in order)


def test_what_the_drain_will_land_is_counted_before_it_drains(site, capsys):
    """The number the plan names is enough, and one less is refused before anything is touched."""
    run(site.server, send("0x01"))
    assert status_of(uninstall, server=site.server, purge_data=True) == CHANGES
    said = capsys.readouterr().out
    assert "that land while it drains" in said
    rows = int(said.split("--purge-rows ")[1])
    options = {"server": site.server, "purge_data": True, "yes": "audit"}
    before = run(site.server, OBJECTS)
    assert status_of(uninstall, **options, purge_rows=0) == ERROR
    assert "ends of open dialogs 2" in capsys.readouterr().err
    assert run(site.server, OBJECTS) == before
    assert status_of(uninstall, **options, purge_rows=rows) == 0
    assert run(site.server, "SELECT COUNT(*) FROM sys.schemas WHERE name = N'audit';") == [(0,)]


def test_dialogs_under_way_are_in_the_plan(site, capsys):
    run(site.server, send("0x01"))
    assert status_of(uninstall, server=site.server) == CHANGES
    assert "CONVERSING" in capsys.readouterr().out


def test_a_role_that_somebody_is_in_is_said_to_stay_and_stays(site, capsys):
    run(site.server, "CREATE USER joe WITHOUT LOGIN; ALTER ROLE audit_reader ADD MEMBER joe;")
    options = {"server": site.server, "purge_data": True}
    assert status_of(uninstall, **options) == CHANGES
    said = capsys.readouterr().out
    assert "stays    role audit_reader: joe is in it. Next: ALTER ROLE" in said
    assert "2 role" in said
    assert status_of(uninstall, **options, yes="audit") == 0
    roles = "SELECT name FROM sys.database_principals WHERE name LIKE N'audit%' AND type = 'R';"
    assert run(site.server, roles) == [("audit_reader",)]


def test_a_schema_with_a_table_of_somebody_stays_with_its_owner(site, capsys):
    run(site.server, "CREATE TABLE audit.Mine (A int NOT NULL);")
    assert status_of(uninstall, server=site.server, purge_data=True, yes="audit") == 0
    assert run(site.server, "SELECT name FROM sys.schemas WHERE name = N'audit';") == [("audit",)]
    user = "SELECT name FROM sys.database_principals WHERE name = N'audit_module';"
    assert run(site.server, user) == [("audit_module",)]


def test_messages_in_a_queue_are_in_the_plan(site, capsys):
    run(site.server, "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    run(site.server, send("0x01"))
    assert status_of(uninstall, server=site.server) == CHANGES
    assert "in queues: 1 TargetQueue" in capsys.readouterr().out


def test_what_another_configuration_uses_is_said_to_stay_and_stays(site, capsys):
    """1 A second schema's mark is on the contract; the message type was there before. 2 Neither goes."""
    run(
        site.server,
        "EXECUTE sys.sp_addextendedproperty N'Redial.user.999', 1, N'CONTRACT', "
        "N'//redial/audit/contract'; EXECUTE sys.sp_dropextendedproperty N'Redial.made', "
        "N'MESSAGE TYPE', N'EndOfStream';",
    )
    assert status_of(uninstall, server=site.server) == CHANGES
    said = capsys.readouterr().out
    assert "1 message type, " in said and "1 contract" in said.partition("keeps")[2]
    assert "stays    contract //redial/audit/contract: another configuration uses it" in said
    assert "stays    message type EndOfStream: it was there before" in said
    assert status_of(uninstall, server=site.server, yes="audit") == 0
    left = "SELECT name FROM sys.service_contracts WHERE name LIKE N'//redial%';"
    assert run(site.server, left) == [("//redial/audit/contract",)]
    types = "SELECT name FROM sys.service_message_types WHERE name NOT LIKE N'http%' AND name <> N'DEFAULT';"
    assert ("EndOfStream",) in run(site.server, types)


def test_after_an_uninstall_each_look_says_so_in_a_line(site, capsys):
    """1 The tables stay. 2 It is uninstalled, and has not stopped half way. 3 A deployment installs it."""
    assert status_of(uninstall, server=site.server, yes="audit") == 0
    capsys.readouterr()
    assert status_of(verify, server=site.server) == 1
    said = capsys.readouterr().out
    assert "in site: it was uninstalled, and what is left are its tables" in said
    assert "1 finding on" in said and "half way" not in said
    assert status_of(plan, server=site.server) == CHANGES
    said = capsys.readouterr().out
    assert "files    nothing -> " in said and "by hand" not in said and "half way" not in said
    assert status_of(uninstall, server=site.server) == CHANGES
    assert "not ours" not in capsys.readouterr().out
    assert status_of(deploy, server=site.server) == 0
    assert status_of(verify, server=site.server) == 0


def test_the_way_back_from_an_uninstall_leads_to_what_was_there_before(site, capsys):
    assert status_of(uninstall, server=site.server, yes="audit") == 0
    assert status_of(rollback, server=site.server, yes=True) == 0
    assert status_of(verify, server=site.server) == 0
    # and an uninstall is no place to go back to
    for to, why in ((None, "no deployment before the last"), (2, "row 2 is an uninstall")):
        assert status_of(rollback, server=site.server, to=to, yes=True) == ERROR
        assert why in capsys.readouterr().err


def test_an_uninstall_that_has_stopped_is_no_uninstall(site, capsys):
    run(site.server, "DROP TABLE audit.DeploymentHistory;")
    assert status_of(uninstall, server=site.server, yes="audit") == 0
    assert status_of(verify, server=site.server) == 1
    assert "has stopped half way (uninstall)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"purge_rows": 5}, "goes with --purge-data"),
        ({"purge_rows": -5, "purge_data": True}, "is no number of rows"),
    ],
)
def test_a_number_of_rows_that_means_nothing_is_refused(site, capsys, options, why):
    assert status_of(uninstall, server=site.server, yes="audit", **options) == ERROR
    assert why in capsys.readouterr().err
    assert status_of(verify, server=site.server) == 0


@pytest.mark.parametrize("command", [deploy, uninstall, rollback, baseline, repair])
def test_a_time_that_nobody_can_wait_is_refused(command, capsys):
    for seconds in (-1, 2**31):
        assert status_of(command, server="never asked", wait_seconds=seconds) == ERROR
        assert f"--wait-seconds {seconds}: is no time to wait" in capsys.readouterr().err


def test_what_looks_at_the_last_deployment_says_that_it_was_uninstalled(site, capsys):
    assert status_of(uninstall, server=site.server, yes="audit") == 0
    capsys.readouterr()
    for command, status in ((drift, ERROR), (baseline, ERROR), (repair, 0)):
        assert status_of(command, server=site.server) == status
        out, err = capsys.readouterr()
        said = out + err
        assert "it was uninstalled" in said and "Next: redial deploy, which installs" in said
        assert "not kept" not in said and "00000000" not in said and "cannot be said" not in said
