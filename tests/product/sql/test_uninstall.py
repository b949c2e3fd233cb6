"""uninstall.sql and purge_data.sql where errors stop nothing, as in SSMS (F-139)."""

import re

import pytest

from tests.installed import rendered, split

from . import catalog
from .bare import MAY_LOSE, Bare, another, installation, removal
from .lab import AUDIT, Client, Lab, configured, send

SERVICES = "SELECT COUNT(*) FROM sys.services AS s WHERE s.name LIKE N'//redial/%';"


@pytest.fixture
def lab():
    """One dialog that cannot end: its message is pending, the target queue is off."""
    lab = Lab()
    client = Client(lab)
    client.execute(send("0xAA"))
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    client.execute(send("0xBB"))
    return lab


def run_on(lab: Lab, name: str) -> list[int]:
    """Every batch of a script, whatever fails; the numbers of the errors."""
    numbers = []
    for batch in split(rendered(AUDIT)[name]):
        lab.sa.submit(batch.sql)
        lab.advance(100)
        assert lab.sa.out.finished, batch.sql
        numbers += [error.number for error in lab.sa.errors]
    return numbers


def test_a_drain_that_fails_drops_nothing_and_leaves_the_gate_open(lab):
    before = catalog.snapshot(lab.rows)
    assert run_on(lab, "uninstall.sql") == [50140]
    assert catalog.difference(before, catalog.snapshot(lab.rows)) == []
    assert lab.rows(SERVICES) == [(2,)]
    assert lab.rows("SELECT IsOpen FROM audit.Gate;") == [(True,)]
    assert lab.rows("SELECT 1 FROM audit.Setting WHERE Name = N'deployment.gate';") == []
    Client(lab).execute(send("0xCC"))
    assert lab.rows("SELECT message_body FROM sys.transmission_queue WHERE message_body = 0xBB;")


def test_a_drain_that_fails_for_copies_of_a_gone_dialog_says_how_to_send_them_again():
    config = configured(operations={"resend_limit": 2})
    lab = Lab(config)
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(send("0xA1") + send("0xA2") + send("0xA3"))
    for (handle,) in lab.rows("SELECT conversation_handle FROM sys.conversation_endpoints;"):
        lab.rows(f"END CONVERSATION '{handle}' WITH CLEANUP;")
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    for batch in split(rendered(config)["uninstall.sql"]):
        lab.sa.submit(batch.sql)
        lab.advance(100)
    ((number, text),) = [(error.number, error.text) for error in lab.sa.errors]
    assert number == 50140
    assert "Messages of dialogs that are gone have not landed" in text
    assert "[vw_Unlanded]" in text and "[usp_Resend]" in text and "[usp_Health]" in text
    lab.rows("EXECUTE audit.usp_Resend @most = 3, @reason = N'x', @WhatIf = 0;")
    lab.advance(5)
    assert lab.bodies() == [b"\xa1", b"\xa2", b"\xa3"]


def test_who_is_in_the_way_is_named_and_the_caller_says_how_long_to_wait():
    lab = Lab()
    sender = Client(lab)
    sender.execute("BEGIN TRANSACTION;" + send("0x01"))
    lab.advance(30)
    lab.sa.execute("EXECUTE sys.sp_set_session_context N'redial.wait_seconds', 5;")
    (batch,) = [b.sql for b in split(rendered(AUDIT)["uninstall.sql"]) if "DROP" in b.sql]
    lab.sa.submit(batch)
    lab.advance(4)
    assert not lab.sa.out.finished
    other = Client(lab)
    other.execute(send("0x02"))  # nobody is kept out for a transaction that may be forgotten
    lab.advance(3)
    assert [e.number for e in lab.sa.errors] == [50140]
    text = lab.sa.errors[0].text
    assert (
        "Not drained within 5 seconds" in text and f"session {sender.session.id} (login sa" in text
    )
    assert "transaction open since" in text and "program" in text and "host" in text
    assert str(other.session.id) not in re.findall(r"session (\d+)", text)
    sender.execute("COMMIT;")
    assert run_on(lab, "uninstall.sql") == []
    assert lab.bodies() == [b"\x01", b"\x02"] or sorted(lab.bodies()) == [b"\x01", b"\x02"]


def test_an_uninstall_that_stopped_is_finished_by_the_next_and_loses_nothing(lab):
    run_on(lab, "uninstall.sql")
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    lab.advance(60)
    assert run_on(lab, "uninstall.sql") == []
    assert lab.rows(SERVICES) == [(0,)]
    assert lab.bodies() == [b"\xaa", b"\xbb"]


def test_purge_of_a_running_installation_is_refused_and_drops_nothing(lab):
    before = lab.rows("SELECT name FROM sys.tables ORDER BY name;")
    lab.sa.execute(MAY_LOSE)
    assert run_on(lab, "purge_data.sql") == [50141]
    assert lab.bodies() == [b"\xaa"]
    assert lab.rows("SELECT name FROM sys.tables ORDER BY name;") == before


@pytest.mark.parametrize("name", ["uninstall.sql", "purge_data.sql"])
def test_a_session_with_implicit_transactions_gets_what_others_get(name):
    """An option of SSMS: EndOfStream would wait for a COMMIT nobody sends, and the drops too."""
    lab = Lab()
    Client(lab).execute(send("0xAA"))
    if name == "purge_data.sql":
        assert run_on(lab, "uninstall.sql") == []
    lab.sa.execute(MAY_LOSE)
    lab.sa.execute("SET IMPLICIT_TRANSACTIONS ON;")
    assert run_on(lab, name) == []
    assert lab.rows("SELECT @@TRANCOUNT;") == [(0,)]


@pytest.mark.parametrize("name", ["uninstall.sql", "purge_data.sql"])
@pytest.mark.parametrize("right", ["", "ALTER ROLE db_ddladmin ADD MEMBER helper;"])
def test_who_lacks_a_right_removes_nothing_and_is_told_what_is_missing(name, right):
    """Who sees few endpoints counts none left, and would drop services with messages in them."""
    lab = Lab()
    Client(lab).execute(send("0xAA"))
    lab.sa.execute(f"CREATE USER helper WITHOUT LOGIN; {right}")
    before = catalog.snapshot(lab.rows)
    lab.sa.execute("EXECUTE AS USER = N'helper';")
    assert run_on(lab, name) == [50200]
    text = lab.sa.errors[0].text
    assert "[helper]" in text and "CONTROL on the database" in text and "Next: " in text
    lab.sa.execute("REVERT;")
    assert catalog.difference(before, catalog.snapshot(lab.rows)) == []
    assert lab.rows(SERVICES) == [(2,)]


def test_a_membership_of_db_owner_is_taken_away_by_members_only():
    """ALTER ROLE page; with CONTROL alone purge would stop after its tables."""
    lab = Lab(configured(roles={"module_is_db_owner": True}))
    assert run_on(lab, "uninstall.sql") == []
    lab.sa.execute("CREATE USER helper WITHOUT LOGIN; GRANT CONTROL TO helper;")
    lab.sa.execute("EXECUTE AS USER = N'helper';")
    assert run_on(lab, "purge_data.sql") == [50200]
    assert "membership in db_owner" in lab.sa.errors[0].text
    lab.sa.execute("REVERT;")
    assert lab.bodies() == []  # the table is there


def test_nothing_comes_before_the_question_of_rights():
    """One batch, for where errors stop nothing the next batch would go on."""
    for name in ("uninstall.sql", "purge_data.sql"):
        batches = [b.sql for b in split(rendered(AUDIT)[name]) if "DROP" in b.sql]
        assert len(batches) == 1
        assert batches[0].index("THROW 50200") < re.search(r"^\s*DROP ", batches[0], re.M).start()


def test_no_queue_is_asked_to_drop_an_activation_it_has_not():
    """F-360: a deployment may have stopped before it, and an operator may have taken it away."""
    files = rendered(AUDIT)
    for name in ("uninstall.sql", "88_earlier.cleanup.sql"):
        drops = [m.start() for m in re.finditer(r"ACTIVATION \(DROP\)", files[name])]
        assert drops
        for at in drops:
            assert "activation_procedure IS NOT NULL" in files[name][at - 300 : at], name


# ---------------------------------------------------------------------- what purge asks for
def without_word(config=AUDIT) -> list[str]:
    """The batches of purge_data.sql alone."""
    return [b.sql for b in split(rendered(config)["purge_data.sql"])]


def test_rows_are_counted_and_dropped_only_when_somebody_has_said_how_many():
    bare = Bare.deployed(AUDIT)
    for body in ("0x01", "0x02", "0x03"):
        Client(bare).execute(send(body))
    bare.advance(5)
    bare.remove(AUDIT, purge=False)
    before = bare.data("audit")
    assert bare.stops(without_word()) == 50143
    text = bare.sa.errors[0].text
    total = int(re.search(r"would drop (\d+) rows in database \[lab\]: ", text)[1])
    assert f"Landing {len(before['Landing'])}, " in text and "ConversationLog 3, " in text
    assert f"N'redial.purge_rows', {total};" in text and f"--purge-rows {total}" in text
    assert bare.data("audit") == before
    bare.run([f"EXECUTE sys.sp_set_session_context N'redial.purge_rows', {total - 1};"])
    assert bare.stops(without_word()) == 50143
    bare.run(
        [f"EXECUTE sys.sp_set_session_context N'redial.purge_rows', {total};", *without_word()]
    )
    assert bare.rows("SELECT SCHEMA_ID(N'audit');") == [(None,)]


def test_an_installation_without_rows_is_purged_without_a_word():
    bare = Bare.deployed(AUDIT)
    bare.remove(AUDIT, purge=False)
    bare.run(without_word())
    assert bare.rows("SELECT SCHEMA_ID(N'audit');") == [(None,)]


@pytest.mark.parametrize(
    "what", ["an empty database", "another's of that name", "it is gone already"]
)
def test_a_database_that_does_not_hold_it_is_refused_and_named(what):
    bare = Bare()
    if what.startswith("another"):
        bare.run(["CREATE SCHEMA audit;", "CREATE TABLE audit.Landing (Id int);"])
    if what.endswith("already"):
        bare.deploy(AUDIT)
        bare.remove(AUDIT)
    before = bare.catalog()
    assert bare.stops(without_word()) == 50142
    assert "Database [lab] holds nothing that" in bare.sa.errors[0].text
    assert catalog.difference(before, bare.catalog()) == []


def test_what_a_version_that_stopped_half_way_has_left_goes_too():
    """v2 killed, v1 deployed, purge: a queue, the schema, the user and three marks stayed."""
    bare = Bare()
    before = bare.catalog()
    bare.deploy(AUDIT)
    renamed = another(AUDIT, queues={"initiator": "NewInitiator", "target": "NewTarget"})
    batches = installation(renamed)
    (made,) = [i for i, sql in enumerate(batches) if "CREATE QUEUE [audit].[NewTarget]" in sql]
    bare.run(batches[: made + 1])
    bare.run(
        [
            "CREATE OR ALTER PROCEDURE audit.usp_OfTomorrow AS "
            "/* Redial 9.9.9, configuration audit */ RETURN 0;",
            "CREATE TABLE audit.OfTomorrow (Id int); EXECUTE sys.sp_addextendedproperty "
            "N'Redial.made', N'audit', N'SCHEMA', N'audit', N'TABLE', N'OfTomorrow';",
            "CREATE TABLE audit.Mine (Id int);",
        ]
    )
    bare.deploy(AUDIT)
    bare.run(removal(AUDIT))
    assert bare.rows("SELECT name FROM sys.objects WHERE schema_id = SCHEMA_ID(N'audit');") == [
        ("Mine",)
    ], "what has no mark is somebody's"
    bare.run(["DROP TABLE audit.Mine;", *removal(AUDIT)])
    assert catalog.difference(before, bare.catalog()) == []
