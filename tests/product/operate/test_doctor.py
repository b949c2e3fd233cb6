"""``redial doctor`` on servers: what it comes to, who may ask, and that nobody's word is taken for health."""

from __future__ import annotations

import re
import threading
import time
from contextlib import closing

import pytest

from redial.cli.doctor import doctor
from redial.config import Config, load
from redial.deploy import apply, connect_odbc
from redial.operate.doctor import Status
from redial.paths import CONFIGS
from redial.server import with_database
from tests.product.deploy.conftest import logged_in_as, run, status_of, two_databases
from tests.waiting import HANGS

pytestmark = pytest.mark.driver
AUDIT = load(CONFIGS / "audit.toml")
PASSWORD = "Op-3rator"
NOBODY = "Server=127.0.0.1,1;Database=shop;UID=sa;PWD={hidden word}"
OFF = "ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;"
RETENTION = "ALTER QUEUE audit.InitiatorQueue WITH RETENTION = ON;"
HEALTH = "CREATE OR ALTER PROCEDURE audit.usp_Health @Debug bit = 0 AS "


def says(capsys, *servers, **options):
    """Exit status of the doctor, and all it says."""
    capsys.readouterr()
    status = status_of(doctor, servers=servers, **options)
    out, err = capsys.readouterr()
    return status, out + err


def in_two(other: str) -> Config:
    """The configuration with the target in another database."""
    data = AUDIT.model_dump(by_alias=True, mode="json")
    return Config.model_validate(data | {"target": data["target"] | {"database": other}})


@pytest.fixture
def operator(site):
    """A login that is a member of the operator role, and nothing more."""
    run(site.server, f"CREATE LOGIN w WITH PASSWORD = '{PASSWORD}';")
    run(site.server, "CREATE USER w FOR LOGIN w; ALTER ROLE audit_operator ADD MEMBER w;")
    return logged_in_as(site.server, "w", PASSWORD)


@pytest.fixture
def quick(monkeypatch):
    """A server that does not answer is not waited for long."""
    monkeypatch.setattr("redial.deploy.port.CONNECT_SECONDS", 1)


# --- statuses ----------------------------------------------------------------------------------


def test_a_healthy_installation_is_0_and_the_last_line_says_what_was_looked_at(site, capsys):
    status, said = says(capsys, site.server)
    assert status == Status.CLEAN, said
    assert "nothing is wrong" in said
    assert re.search(r"\nlooked for [5-9]\d findings in \d+ ms\n$", said)


def test_the_worst_comes_first_with_all_that_a_dba_needs(site, capsys):
    run(site.server, OFF + RETENTION)
    status, said = says(capsys, site.server)
    assert status == Status.ACT_NOW
    assert "act now: 1 nothing flows, 1 look" in said
    first, second = said.index("NOTHING FLOWS  queue off: TargetQueue"), said.index("LOOK  ")
    block = said[first:second]
    for part in (
        "do       Messages wait; nothing is lost.",
        "who      a member of audit_operator",
        "run      EXECUTE [audit].[usp_StartQueue] @queue = N'TargetQueue'",
        "page     docs/runbook/queue-off.md",
    ):
        assert part in block


def test_what_is_only_to_be_looked_at_is_2(site, capsys):
    run(site.server, RETENTION)
    assert says(capsys, site.server)[0] == Status.WARNINGS


def test_a_server_that_cannot_be_reached_is_4_with_what_why_and_what_next(quick, capsys):
    status, said = says(capsys, NOBODY)
    assert status == Status.NOT_ALL
    assert "NOT LOOKED AT  127.0.0.1,1, database shop: " in said
    assert "next     check that the server runs" in said and "looked for nothing" in said
    assert "hidden word" not in said


@pytest.mark.parametrize(
    ("change", "status"),
    [("", Status.NOT_ALL), (RETENTION, Status.NOT_ALL), (OFF, Status.ACT_NOW)],
)
def test_of_two_servers_one_that_does_not_answer_keeps_nobody_from_the_other(
    change, status, site, quick, capsys
):
    if change:
        run(site.server, change)
    found, said = says(capsys, NOBODY, site.server)
    assert found == status
    assert "configuration audit, 2 databases" in said
    assert re.search(r"127.0.0.1,\d+, database site: looked for \d\d findings", said)
    assert "127.0.0.1,1, database shop: looked for nothing" in said
    assert ("queue off: TargetQueue\n    at       127.0.0.1," in said) == (change == OFF)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"form": "yaml"}, "use one of: text, json, sarif, junit, html"),
        ({"yes": True}, "goes with --fix only"),
        ({"fix": "queue-off", "form": "json"}, "--fix --format: do not go together"),
        ({"list_ids": True, "explain": "rows"}, "--list --explain: do not go together"),
        ({"wait_seconds": -1}, "is no time to wait"),
        ({"fix": "queue-of"}, "did you mean queue-off?"),
        ({"fix": "job-late"}, "is not looked for in configuration audit: only where agent_jobs"),
    ],
)
def test_an_error_of_the_command_line_is_1(options, words, capsys):
    status, said = says(capsys, NOBODY, **options)
    assert status == 1 and words in said


def test_a_text_that_names_no_server_is_1_before_any_other_is_asked(capsys):
    assert says(capsys, NOBODY, "nonsense")[0] == 1
    assert says(capsys, NOBODY, "Server=x;UID=a")[0] == 1
    assert says(capsys, NOBODY, NOBODY, fix="queue-off")[0] == 1


# --- who may ask -------------------------------------------------------------------------------


def test_an_operator_without_a_right_on_the_server_is_told_what_he_does_not_see(operator, capsys):
    status, said = says(capsys, operator)
    assert status == Status.NOT_ALL
    assert "NOT LOOKED AT  activation stuck, no queue monitor" in said
    assert "why      The caller has neither VIEW SERVER STATE" in said
    assert re.search(r"\nlooked for \d+ findings in \d+ ms; not looked at: activation stuck", said)


def test_an_operator_with_it_sees_everything(site, operator, capsys):
    run(with_database(site.server, "master"), "GRANT VIEW SERVER STATE TO w;")
    assert says(capsys, operator)[0] == Status.CLEAN


def test_a_login_without_the_role_is_told_who_lets_it_in(site, operator, capsys):
    run(site.server, "ALTER ROLE audit_operator DROP MEMBER w;")
    status, said = says(capsys, operator)
    assert status == Status.NOT_ALL
    assert "EXECUTE permission was denied" in said
    assert "ALTER ROLE [audit_operator] ADD MEMBER" in said


@pytest.mark.parametrize(
    ("user", "word", "database", "words"),
    [
        ("sa", "wrong", "site", "check UID and PWD"),
        ("sa", None, "nowhere", "there is none of that name on this server"),
        ("stranger", PASSWORD, "site", "has no user in it"),
    ],
)
def test_a_login_that_does_not_get_in_is_4(user, word, database, words, site, capsys):
    run(site.server, f"CREATE LOGIN stranger WITH PASSWORD = '{PASSWORD}';")
    server = with_database(site.server, database)
    status, said = says(capsys, logged_in_as(server, user, word) if word else server)
    assert status == Status.NOT_ALL
    assert words in said and f"database {database}: " in said


# --- a usp_Health that gives no answer ----------------------------------------------------------


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ("DROP PROCEDURE audit.usp_Health;", "is not there"),
        ("CREATE OR ALTER PROCEDURE audit.usp_Health AS RETURN;", "is of an earlier version"),
        (HEALTH + "RETURN;", "its report has no column"),
        (HEALTH + "SELECT 1 AS Priority, N'queue off' AS Finding;", "its report has no column"),
        (HEALTH + "THROW 50001, N'no <way>', 1;", "no <way> (50001)"),
        (HEALTH + "SELECT 1 / 0;", "Divide by zero"),
        (
            HEALTH + "SELECT N'x' AS Priority, N'' AS Finding, N'' AS Object, N'' AS Figure, "
            "N'' AS Advice, N'' AS Statement, N'' AS Who, N'' AS Id, N'' AS Page;",
            "none of ours gives",
        ),
        (HEALTH + "WAITFOR DELAY '00:01:00';", "no answer within 1 seconds"),
    ],
)
def test_a_report_that_does_not_come_is_4_and_says_what_helps(broken, words, site, capsys):
    run(site.server, broken)
    status, said = says(capsys, site.server, wait_seconds=1)
    assert status == Status.NOT_ALL, said
    assert words in said and "[audit].[usp_Health] on 127.0.0.1," in said and "next  " in said
    assert "looked for nothing" in said


def test_a_report_without_a_line_is_no_health(site, capsys):
    run(
        site.server,
        HEALTH + "SELECT TOP (0) 1 AS Priority, N'' AS Finding, N'' AS Object, N'' AS Figure, "
        "N'' AS Advice, N'' AS Statement, N'' AS Who, N'' AS Id, N'' AS Page;",
    )
    status, said = says(capsys, site.server)
    assert status == Status.NOT_ALL
    assert "usp_Health as it is installed does not look for these" in said
    assert "looked for 0 findings" in said and "queue off" in said


def test_what_was_looked_for_while_the_servers_clock_was_set_back_was_looked_for(site, capsys):
    run(
        site.server,
        HEALTH
        + "PRINT N'queue-off: -1 ms'; PRINT N'queue-long: 7 ms'; SELECT TOP (0) 1 AS Priority, "
        "N'' AS Finding, N'' AS Object, N'' AS Figure, N'' AS Advice, N'' AS Statement, N'' AS Who, "
        "N'' AS Id, N'' AS Page;",
    )
    _, said = says(capsys, site.server)
    assert "looked for 2 findings in " in said


def test_a_part_of_the_report_that_failed_is_named_and_the_rest_counts(site, capsys):
    run(site.server, OFF + "DROP FUNCTION audit.ufn_QueuePages;")
    status, said = says(capsys, site.server)
    assert status == Status.ACT_NOW
    assert "NOT LOOKED AT  queue out of order  error 208" in said
    assert "; not looked at: queue out of order\n" in said


def test_a_report_that_is_killed_midway_is_4(site, capsys):
    run(site.server, HEALTH + "PRINT N'queue-off: 1 ms'; WAITFOR DELAY '00:01:00';")
    done = threading.Event()

    def kill():
        with closing(connect_odbc(site.server)()) as connection:
            while not done.is_set():
                rows = connection.execute(
                    "SELECT r.session_id FROM sys.dm_exec_requests AS r "
                    "WHERE r.session_id <> @@SPID AND r.wait_type = N'WAITFOR';"
                ).fetchall()
                for (session,) in rows:
                    connection.execute(f"KILL {session};")
                time.sleep(0.05)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        status, said = says(capsys, site.server)
    finally:
        done.set()
        killer.join(HANGS)
    assert status == Status.NOT_ALL, said
    assert "was cut off: " in said and "run the command again" in said


# --- two databases -----------------------------------------------------------------------------


def test_both_databases_of_a_configuration_are_looked_at(capsys, monkeypatch):
    two = in_two("depot")
    monkeypatch.setattr("redial.cli.doctor.load_named", lambda _: two)
    with two_databases("shop", "depot") as (broker, connect):
        apply(two, connect)
        server = with_database(broker.odbc, "shop")
        assert says(capsys, server)[0] == Status.CLEAN
        run(with_database(server, "depot"), OFF)
        status, said = says(capsys, server)
        assert status == Status.ACT_NOW
        assert re.search(r"queue off: TargetQueue\n    at       \S+, database depot\n", said)
        assert len(re.findall(r"database (?:shop|depot): looked for \d+ findings", said)) == 2
        status, said = says(capsys, server, fix="queue-off", yes=True)
        assert status == Status.CLEAN and "gone: queue off: TargetQueue" in said
