"""redial.sql as people run it: one batch, on a connection of sqlcmd (QUOTED_IDENTIFIER OFF), of SSMS, of
drivers without autocommit. Whichever part fails, nothing may be switched on half, the text must say which
part and why, and running the script again must finish the job."""

from __future__ import annotations

import hashlib
import re

import pytest

from redial.cli.configs import chosen, load_named
from redial.paths import GENERATED
from redial.render.installer import parts_of
from redial.render.quoting import literal
from redial.render.renderer import HEADER
from redial_broker.exec.ddl.probing import unprobed
from tests.installed import rendered, split
from tests.product.combos.catalog import differences, read
from tests.product.combos.lab import DATABASE, Lab, empty_instance

AUDIT = load_named("audit")
INSTALLER = rendered(AUDIT)["redial.sql"]
FILES = {name: text for name, text in rendered(AUDIT).items() if re.match(r"\d\d_", name)}
PARTS = list(parts_of(FILES, HEADER))
SQLCMD = "SET QUOTED_IDENTIFIER OFF;"
"""What a connection of sqlcmd starts with (sqlcmd utility page, option -I)."""
PLAN = "EXECUTE sys.sp_set_session_context N'redial.plan', 1;"
PROBLEM = "THROW 50000, N'disk 100% full', 1;"


def failing_in(number: int) -> str:
    """The script, the part of this number replaced by one that fails."""
    head, text = "INSERT INTO @part ", f"\n{literal(PARTS[number].text)});\n"
    pieces = INSTALLER.split(head)
    assert text in pieces[number + 1]
    pieces[number + 1] = pieces[number + 1].replace(text, f"\n{literal(PROBLEM)});\n")
    return head.join(pieces)


def run(lab: Lab, first: str, script: str = INSTALLER) -> list[int]:
    """The script on one connection. Error numbers; what it says is kept in ``lab.said``."""
    session = lab.instance.connect(DATABASE)
    session.execute(first).ok()
    with unprobed(lab.instance.server):  # always the same script
        out = session.execute(script)
        for _ in range(200):
            if out.finished:
                break
            lab.instance.advance(1)
    assert out.finished
    lab.said = [message.text for message in out.messages]
    session.close()
    return [error.number for error in out.errors]


@pytest.fixture
def lab():
    with empty_instance() as instance:
        yield Lab(instance, AUDIT)


def installed(lab: Lab) -> dict[str, list[tuple]]:
    """What an installation consists of: objects, rights, and what the queues do."""
    found = {k: v for k, v in read(lab.rows).items() if k not in ("endpoints", "transmission")}
    found["queues"] = lab.rows(
        "SELECT name, is_activation_enabled, activation_procedure, max_readers, "
        "USER_NAME(execute_as_principal_id) FROM sys.service_queues WHERE is_ms_shipped = 0 "
        "ORDER BY name;"
    )
    found["modules"] = lab.rows(
        "SELECT OBJECT_NAME(object_id), uses_ansi_nulls, uses_quoted_identifier, "
        "USER_NAME(execute_as_principal_id) FROM sys.sql_modules ORDER BY 1;"
    )
    return found


@pytest.fixture(scope="module")
def clean():
    """An installation nothing went wrong with."""
    with empty_instance() as instance:
        lab = Lab(instance, AUDIT)
        assert run(lab, "SET QUOTED_IDENTIFIER ON;") == []
        return installed(lab)


@pytest.mark.parametrize("first", [SQLCMD, "SET IMPLICIT_TRANSACTIONS ON;", "SET NOEXEC ON;"])
def test_the_settings_of_the_connection_do_not_reach_the_modules(lab, clean, first):
    assert run(lab, first) == []
    assert differences(clean, installed(lab)) == []
    assert {row[1:3] for row in installed(lab)["modules"]} == {(1, 1)}


def test_a_driver_without_autocommit_keeps_its_own_setting(lab):
    session = lab.instance.connect(DATABASE)
    session.execute("SET IMPLICIT_TRANSACTIONS ON;").ok()
    assert session.execute(INSTALLER).errors == []
    assert session.execute("SELECT @@OPTIONS & 2, @@TRANCOUNT;").rows() == [(2, 0)]


def test_a_transaction_is_left_alone_and_refused(lab):
    session = lab.instance.connect(DATABASE)
    session.execute("BEGIN TRANSACTION; CREATE TABLE mine (x int);").ok()
    [error] = session.execute(INSTALLER).errors
    assert error.number == 50228 and "runInTransaction" in error.text
    assert session.execute("SELECT @@TRANCOUNT;").rows() == [(1,)]
    session.execute("COMMIT;").ok()
    assert [row[0] for row in lab.rows("SELECT name FROM sys.tables;")] == ["mine"]


@pytest.mark.sampled(every=40)
@pytest.mark.parametrize("failing", range(len(PARTS)), ids=lambda n: f"{n} {PARTS[n].name}")
def test_a_part_that_fails_is_the_last_that_runs_and_the_next_run_converges(lab, clean, failing):
    """Feature idempotent deploy: the first error ends it. Whoever sends before the second run is
    refused, or the message is kept until it can be landed."""
    part = PARTS[failing]
    assert run(lab, SQLCMD, failing_in(failing)) == [50000]
    if failing:
        place = f"stopped in {part.name}, line {part.line}"
        assert "disk 100% full" in lab.said[-1] and place in lab.said[-1], lab.said[-1]
        assert "Next: " in lab.said[-1]
    assert not [text for text in lab.said if ": installed" in text]
    assert lab.rows(
        "SELECT COUNT(*) FROM sys.dm_tran_locks WHERE resource_type = 'APPLICATION';"
    ) == [(0,)]
    activated = [row for row in installed(lab)["queues"] if row[1]]
    there = read(lab.rows)["objects"]
    missing = [row for row in clean["objects"] if row not in there]
    assert not (missing and activated), f"{activated} is on without {missing}"
    caller = lab.caller()
    for body in (lab.body(), lab.body()):
        out = caller.session.execute(caller.call(body))
        if not out.errors:
            caller.acknowledge(body)
    lab.advance(10)
    assert run(lab, SQLCMD) == []
    assert ": installed." in lab.said[-1]
    assert differences(clean, installed(lab)) == []
    caller.send(lab.body(), None)
    lab.rest(10)


def test_an_error_of_the_server_is_told_with_its_number_the_part_and_its_line(lab):
    """A part whose second statement fails: the line is counted from the file's first."""
    number = next(n for n, part in enumerate(PARTS) if part.name == "30_Gate.table.sql")
    bad = INSTALLER.replace(
        f"\n{literal(PARTS[number].text)});\n",
        f"\n{literal('PRINT 1;' + chr(10) + 'SELECT 1/0;')});\n",
    )
    assert run(lab, SQLCMD, bad) == [50220]
    assert "Error 8134: " in lab.said[-1]
    assert f"30_Gate.table.sql, line {PARTS[number].line + 1}" in lab.said[-1]


ATTEMPTS = "SELECT What, Outcome, Message FROM audit.DeploymentAttempt ORDER BY AttemptId;"


def test_each_attempt_is_written_down_before_its_first_change_and_with_its_end(lab):
    last = len(PARTS) - 1
    assert run(lab, SQLCMD, failing_in(last)) == [50000]
    [(what, outcome, message)] = lab.rows(ATTEMPTS)
    assert (what, outcome) == ("install", "failed")
    assert PARTS[last].name in message and "disk 100% full" in message
    lab.sa.execute("UPDATE audit.DeploymentAttempt SET Outcome = N'running';").ok()  # cut off, say
    assert run(lab, SQLCMD) == []
    assert [row[:2] for row in lab.rows(ATTEMPTS)] == [
        ("install", "abandoned"),
        ("install", "finished"),
    ]
    [(before, after)] = lab.rows(
        "SELECT HashBefore, HashAfter FROM audit.DeploymentAttempt WHERE Outcome = N'finished';"
    )
    assert len(before or after) == 64


def test_a_second_run_changes_nothing_and_makes_no_module_again(lab, clean):
    run(lab, SQLCMD)
    made = "SELECT name, modify_date FROM sys.objects WHERE type IN ('P', 'V', 'TR', 'TF', 'IF', 'FN');"
    before = lab.rows(made)
    assert len(before) > 60
    lab.advance(5)
    assert run(lab, SQLCMD) == []
    assert lab.rows(made) == before
    assert differences(clean, installed(lab)) == []
    assert "Created 0, altered 0" in lab.said[-1]


def changed_by_hand(lab: Lab) -> None:
    """A procedure altered, its stamp kept; a view dropped; a procedure made under other settings."""
    [(text,)] = lab.rows("SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.usp_ArmTimer'));")
    alter = re.sub(r"CREATE\s+PROCEDURE", "ALTER PROCEDURE", text)
    lab.sa.execute(alter + "\n-- hotfix").ok()
    lab.sa.execute("DROP VIEW audit.vw_Errors;").ok()
    [(text,)] = lab.rows("SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.usp_LogError'));")
    lab.sa.execute("SET QUOTED_IDENTIFIER OFF;").ok()
    lab.sa.execute(re.sub(r"CREATE\s+PROCEDURE", "ALTER PROCEDURE", text)).ok()
    lab.sa.execute("SET QUOTED_IDENTIFIER ON;").ok()


def test_a_plan_names_what_differs_and_changes_nothing(lab):
    run(lab, SQLCMD)
    changed_by_hand(lab)
    before = installed(lab), lab.rows(ATTEMPTS)
    assert run(lab, PLAN) == []
    assert lab.said[:-1] == [
        "alter procedure [audit].[usp_ArmTimer]",
        "alter procedure [audit].[usp_LogError]",
        "create view [audit].[vw_Errors]",
    ]
    assert "plan. To create 1, to alter 2" in lab.said[-1] and "Not compared: " in lab.said[-1]
    assert (installed(lab), lab.rows(ATTEMPTS)) == before
    # and what it names is what is done
    assert run(lab, SQLCMD) == []
    assert "Created 1, altered 2" in lab.said[-1]
    assert run(lab, PLAN) == [] and len(lab.said) == 1


def test_a_plan_of_nothing_makes_nothing(lab):
    """Also where nothing is there yet, and as the head of the file says to ask for it."""
    script = INSTALLER.replace("DECLARE @plan bit = 0;", "DECLARE @plan bit = 1;")
    assert run(lab, SQLCMD, script) == []
    assert f"plan. To create {len(lab.said) - 1}, to alter 0" in lab.said[-1]
    assert lab.rows("SELECT name FROM sys.objects WHERE is_ms_shipped = 0;") == []


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_line_ends_of_another_system_are_no_difference(lab, ends):
    assert run(lab, SQLCMD, INSTALLER.replace("\n", ends)) == []
    assert run(lab, PLAN) == []
    assert len(lab.said) == 1 and "to alter 0" in lab.said[-1]


def test_who_holds_the_lock_is_named_and_nothing_is_done(lab):
    other = lab.instance.connect(DATABASE)
    other.execute(
        "EXECUTE sys.sp_getapplock N'redial deploy audit', N'Exclusive', N'Session';"
    ).ok()
    assert run(lab, SQLCMD) == [50229]
    assert f"session {other.id}, login sa" in lab.said[-1] and "Next: " in lab.said[-1]
    assert lab.rows("SELECT name FROM sys.objects WHERE is_ms_shipped = 0;") == []
    other.close()
    assert run(lab, SQLCMD) == []


def test_a_window_that_was_cancelled_keeps_no_lock_after_the_next_run(lab):
    """An attention runs no CATCH: SSMS keeps the session, and with it the lock (F-582)."""
    session = lab.instance.connect(DATABASE)
    session.execute(
        "EXECUTE sys.sp_getapplock N'redial deploy audit', N'Exclusive', N'Session';"
    ).ok()
    assert session.execute(INSTALLER).errors == []
    assert session.execute(
        "SELECT APPLOCK_MODE(N'public', N'redial deploy audit', N'Session');"
    ).rows() == [("NoLock",)]


@pytest.mark.parametrize("kind", ["table", "type", "procedure"])
def test_parts_run_one_by_one_activate_nothing_without_all_it_needs(lab, kind):
    """Nobody stops whoever runs the parts by hand: the activation script looks for itself."""
    part = [name for name in lab.files if f".{kind}." in name][-1]
    for name, text in lab.files.items():
        if name[:2].isdigit() and name != part:
            for batch in split(text):
                out = lab.sa.execute(batch.sql)
                assert out.finished
                if name == "81_queues.activation.sql" and "ALTER QUEUE" in batch.sql:
                    assert [error.number for error in out.errors] == [50199]
    assert lab.rows(
        "SELECT COUNT(*) FROM sys.service_queues WHERE is_activation_enabled = 1 "
        "AND is_ms_shipped = 0;"
    ) == [(0,)]


def test_every_module_tells_its_version_and_configuration_from_the_catalog(lab):
    """Feature idempotent deploy: OBJECT_DEFINITION answers which version runs, as a DBA asks."""
    run(lab, SQLCMD)
    texts = lab.rows(
        "SELECT o.name, OBJECT_DEFINITION(o.object_id) FROM sys.objects AS o "
        "INNER JOIN sys.sql_modules AS m ON m.object_id = o.object_id;"
    )
    assert texts
    stamp = re.compile(r"/\* Redial \d+\.\d+\.\d+, configuration audit\b[^*]*\*/")
    assert [name for name, text in texts if not stamp.search(text)] == []


@pytest.mark.parametrize("name", chosen(None))
def test_the_committed_checksums_are_those_of_the_files(name):
    directory = GENERATED / name
    listed = {}
    for line in (directory / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        digest, file = line.split("  ", 1)
        listed[file] = digest
    here = {
        p.name: hashlib.sha256(p.read_bytes()).hexdigest()
        for p in directory.iterdir()
        if p.name != "SHA256SUMS"
    }
    assert listed == here
