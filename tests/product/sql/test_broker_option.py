"""[database] enable_broker: how an installation comes by a Service Broker that is off (F-101)."""

from __future__ import annotations

import pytest

from redial.config import Config

from . import catalog
from .bare import Bare, another, installation
from .lab import AUDIT, Client, send

OFF = "ALTER DATABASE CURRENT SET DISABLE_BROKER;"
IS_ON = "SELECT is_broker_enabled FROM sys.databases WHERE database_id = DB_ID();"
GUID = "SELECT service_broker_guid FROM sys.databases WHERE database_id = DB_ID();"
BUSY = "BEGIN TRANSACTION; SELECT COUNT(*) FROM sys.objects;"


def option(value: str) -> Config:
    return another(AUDIT, database={"enable_broker": value})


def switched_off(**switches: object) -> Bare:
    bare = Bare(**switches)
    bare.run([OFF])
    assert bare.rows(IS_ON) == [(0,)]
    return bare


def brought_to_no_wait(bare: Bare) -> list[str]:
    """Everything before ENABLE_BROKER is run; that batch and what is left."""
    batches = installation(option("no_wait"))
    (place,) = [n for n, sql in enumerate(batches) if "SET ENABLE_BROKER WITH NO_WAIT;" in sql]
    bare.run(batches[:place])
    return batches[place:]


def works(bare: Bare) -> bool:
    Client(bare).execute(send("0x01"))
    bare.advance(5)
    return bare.bodies() == [b"\x01"]


def test_no_wait_names_who_is_in_the_way_and_changes_nothing():
    """The default: production is never stopped by an installation (F-481)."""
    assert Config.model_validate(
        AUDIT.model_dump(by_alias=True, exclude={"database"})
    ).database == (option("no_wait").database)
    bare = switched_off()
    guid, before = bare.rows(GUID), bare.catalog()
    idle, busy = Client(bare), Client(bare)
    busy.execute(BUSY)
    assert bare.stops(installation(option("no_wait"))) == 50226
    text = bare.sa.errors[0].text
    for session in (idle.session, busy.session):
        assert f"session {session.id}, login sa, host unknown, program unknown, since 2026-" in text
    assert "2 other sessions" in text and "Nothing was done. Next: " in text
    assert busy.value("@@TRANCOUNT") == 1 and bare.rows(IS_ON) == [(0,)]
    assert catalog.difference(before, bare.catalog()) == []
    busy.execute("COMMIT; USE master;")
    idle.execute("USE master;")
    bare.deploy(option("no_wait"))
    assert bare.rows(IS_ON) == [(1,)] and bare.rows(GUID) == guid
    assert works(bare)


def test_no_wait_counts_the_others_and_names_the_first_five():
    bare = switched_off()
    others = [Client(bare) for _ in range(7)]
    assert bare.stops(installation(option("no_wait"))) == 50226
    text = bare.sa.errors[0].text
    assert "7 other sessions" in text and text.count("session ") == 5
    assert f"session {others[4].session.id}," in text


def test_a_session_of_the_servers_own_is_in_nobody_s_way():
    bare = switched_off()
    Client(bare).session.background = True
    bare.deploy(option("no_wait"))
    assert bare.rows(IS_ON) == [(1,)]


def test_who_comes_after_the_preflight_makes_it_give_up_at_once_with_the_servers_words():
    bare = switched_off()
    option_, *_ = brought_to_no_wait(bare)
    late = Client(bare)
    late.execute(BUSY)
    assert bare.attempt(option_) == [5070, 5069]
    assert late.value("@@TRANCOUNT") == 1 and bare.rows(IS_ON) == [(0,)]


def test_nor_is_anybody_cut_off_where_the_server_has_another_number_for_it():
    bare = switched_off(no_wait_while_others_use_the_database=5061)
    option_, *_ = brought_to_no_wait(bare)
    late = Client(bare)
    late.execute(BUSY)
    assert bare.attempt(option_) == [5061, 5069]
    assert late.value("@@TRANCOUNT") == 1 and bare.rows(IS_ON) == [(0,)]


@pytest.mark.parametrize("newcomers", ["wait", "go in"])
def test_nor_where_no_wait_waits_all_the_same_and_the_installation_goes_on_when_all_have_left(
    newcomers,
):
    bare = switched_off(
        no_wait_while_others_use_the_database="waits", new_sessions_behind_alter_database=newcomers
    )
    option_, *rest = brought_to_no_wait(bare)
    late = Client(bare)
    late.execute(BUSY)
    comes = Client(bare, "master")
    bare.sa.submit(option_)
    bare.advance(60)
    comes.submit("USE lab; SELECT COUNT(*) FROM sys.objects; USE master;")
    bare.advance(60)
    assert not bare.sa.out.finished and comes.out.finished == (newcomers == "go in")
    late.submit("COMMIT; USE master;")
    bare.advance(5)
    assert bare.sa.out.finished and bare.sa.errors == [] and comes.out.finished
    bare.run(rest)
    assert works(bare)


def test_never_refuses_where_it_is_off_and_changes_nothing():
    bare = switched_off()
    before = bare.catalog()
    other = Client(bare)
    other.execute(BUSY)
    assert bare.stops(installation(option("never"))) == 50196
    assert "Next: " in bare.sa.errors[0].text and "SET ENABLE_BROKER" in bare.sa.errors[0].text
    assert catalog.difference(before, bare.catalog()) == []
    assert bare.rows(IS_ON) == [(0,)]
    assert other.value("@@TRANCOUNT") == 1


def test_never_installs_where_an_operator_has_switched_it_on():
    bare = switched_off()
    bare.run(["ALTER DATABASE CURRENT SET ENABLE_BROKER;"])
    bare.deploy(option("never"))
    assert works(bare)


def test_wait_lets_the_others_end_and_cuts_nobody_off():
    bare = switched_off()
    guid = bare.rows(GUID)
    other = Client(bare)
    other.execute(BUSY)
    batches = installation(option("wait"))
    (place,) = [
        n for n, sql in enumerate(batches) if "    ALTER DATABASE CURRENT SET ENABLE_BROKER;" in sql
    ]
    bare.run(batches[:place])
    bare.sa.submit(batches[place])
    bare.advance(600)
    assert not bare.sa.out.finished  # no LOCK_TIMEOUT ends it, only the others
    assert other.value("@@TRANCOUNT") == 1
    other.submit("COMMIT;")
    bare.advance(600)
    assert not bare.sa.out.finished  # an idle session of the database is in the way as well (F-481)
    other.submit("USE master;")
    bare.advance(5)
    assert bare.sa.out.finished and bare.sa.errors == []
    bare.run(batches[place + 1 :])
    assert bare.rows(IS_ON) == [(1,)] and bare.rows(GUID) == guid
    assert works(bare)


def test_immediate_cuts_the_others_off_once():
    bare = switched_off()
    guid = bare.rows(GUID)
    other = Client(bare)
    other.execute(BUSY)
    bare.deploy(option("immediate"))
    assert other.session.id not in bare.instance.sessions
    assert bare.rows(IS_ON) == [(1,)] and bare.rows(GUID) == guid
    again = Client(bare)
    again.execute(BUSY)
    bare.deploy(option("immediate"))  # it is on: nobody is asked to leave
    assert again.value("@@TRANCOUNT") == 1
    again.execute("COMMIT;")
    assert works(bare)


@pytest.mark.parametrize("value", ["no_wait", "wait", "never"])
def test_where_it_is_on_nobody_is_waited_for(value):
    bare = Bare()
    other = Client(bare)
    other.execute(BUSY)
    bare.deploy(option(value))
    assert other.value("@@TRANCOUNT") == 1
    other.execute("COMMIT;")
    assert works(bare)
