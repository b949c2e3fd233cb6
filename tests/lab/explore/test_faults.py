"""Each kind of fault, on text the explorer has never seen."""

from __future__ import annotations

import pytest

from redial_broker.instance.instance import Instance
from redial_lab.end_conversation import WITH_CLEANUP
from redial_lab.explore import Client, Scenario, World, search
from redial_lab.explore.checks import nothing_left_behind
from redial_lab.explore.faults import (
    WITH_ERROR,
    Fault,
    ends_now,
    error_message,
    queue_off,
    queue_off_and_on,
    queue_on,
    target_ends,
)

TWO = (
    "BEGIN TRANSACTION; UPDATE dbo.c SET n = n + 1 WHERE id = 1; "
    "UPDATE dbo.c SET n = n + 1 WHERE id = 2; COMMIT TRANSACTION;"
)
DIALOG = (
    "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE a TO SERVICE N'b' "
    "WITH ENCRYPTION = OFF; SEND ON CONVERSATION @h (0x01);"
)

SEND_AGAIN = (
    "DECLARE @h uniqueidentifier = (SELECT conversation_handle "
    "FROM sys.conversation_endpoints WHERE is_initiator = 1); "
    "IF @h IS NOT NULL SEND ON CONVERSATION @h (0x02);"
)


def tables() -> Instance:
    instance = Instance(seed=3)
    session = instance.connect()
    session.execute("CREATE DATABASE d;").ok()
    session.close()
    session = instance.connect("d")
    for text in (
        "CREATE TABLE dbo.c (id int NOT NULL PRIMARY KEY, n int NOT NULL);",
        "INSERT dbo.c VALUES (1, 0), (2, 0);",
        "CREATE QUEUE dbo.qa;",
        "CREATE QUEUE dbo.qb;",
        "CREATE SERVICE a ON QUEUE dbo.qa;",
        "CREATE SERVICE b ON QUEUE dbo.qb ([DEFAULT]);",
    ):
        session.execute(text).ok()
    session.close()
    return instance


def numbers(world: World) -> list[int]:
    table = world.instance.server.database("d").resolve("dbo", "c")
    return [row[1] for row in table.rows.entries.values()]


def found(
    text: str,
    *faults: Fault,
    clients: int = 1,
    look=lambda world: str(numbers(world)),
    on_cancel: str = "",
    warm: tuple[str, ...] = (),
) -> tuple[set[str], object]:
    """What ``look`` says of every end of a search, and the search's result."""
    seen = set()

    def note(world: World) -> list[str]:
        seen.add(look(world))
        return nothing_left_behind(world)

    scenario = Scenario(
        "faults",
        tables,
        tuple(
            Client(f"T{n}", (text,), "d", warm if n == 1 else (), on_cancel)
            for n in range(1, clients + 1)
        ),
        at_the_end=note,
        faults=faults,
    )
    result = search(scenario)
    assert result.ended
    return seen, result


def test_a_kill_leaves_all_or_nothing():
    seen, result = found(TWO, Fault("kill"))
    assert seen == {"[0, 0]", "[1, 1]"}
    assert result.taken["kill"] > 0 and result.violations == {}


def test_a_cancel_leaves_the_transaction_open_where_nobody_tidies_up():
    assert "transaction left open" in found(TWO, Fault("cancel"))[1].violations


def test_a_rollback_of_the_client_does_not():
    seen, result = found(TWO, Fault("rollback"))
    assert (seen, result.violations) == ({"[0, 0]", "[1, 1]"}, {})


def test_a_lock_timeout_strikes_only_who_waits_for_a_lock():
    errors = found(
        TWO, Fault("lock_timeout"), clients=2, look=lambda world: str(world.progress.results)
    )[0]
    assert any("1222" in one for one in errors)
    alone, result = found(TWO, Fault("lock_timeout"))
    assert (alone, result.taken["lock_timeout"]) == ({"[1, 1]"}, 0)


def test_a_time_limit_runs_out_while_a_client_stands_still():
    """Without the pause the second client's wait ends before time can pass."""
    text = "SET LOCK_TIMEOUT 1000; " + TWO

    def look(world: World) -> str:
        return str(sorted(world.progress.results))

    assert not any("1222" in one for one in found(text, clients=2, look=look)[0])
    assert any("1222" in one for one in found(text, Fault("pause"), clients=2, look=look)[0])


def test_a_fault_meant_for_one_spares_the_others():
    results = found(
        TWO,
        Fault("kill", who="T2"),
        clients=2,
        look=lambda world: str(sorted(world.progress.killed)),
    )[0]
    assert results == {"[]", "[1]"}


def endpoints(world: World) -> str:
    broker = world.instance.server.database("d").broker
    return " ".join(sorted(e.state() for e in broker.endpoints.values()))


def test_a_target_that_ends_first_and_one_that_ends_with_an_error():
    """DI and CD (told, not yet ended), or ER and CD; CO, CO where a message lay unread."""
    read = f"{DIALOG} RECEIVE conversation_handle FROM dbo.qb;"
    assert {"CD DI", "CO CO"} == found(read, target_ends("d", "dbo.qb"), look=endpoints)[0]
    assert {"CD ER", "CO CO"} == found(read, error_message("d", "dbo.qb"), look=endpoints)[0]
    assert {"CO CO"} == found(DIALOG, target_ends("d", "dbo.qb"), look=endpoints)[0]


IN_FLIGHT = f"BEGIN TRANSACTION; {SEND_AGAIN} COMMIT TRANSACTION;"


def lying(world: World) -> str:
    """States of both sides, and how many messages of the dialog are left anywhere."""
    broker = world.instance.server.database("d").broker
    left = sum(
        len(e.inbox.rows) + len(e.pending) for e in broker.endpoints.values() if not e.is_initiator
    )
    return f"{endpoints(world)} {left}"


@pytest.mark.parametrize(("how", "told"), [("", "DI"), (WITH_ERROR, "ER"), (WITH_CLEANUP, "CO")])
def test_a_target_that_is_ended_now_takes_what_is_on_its_way(how, told):
    """The polite one gives up as long as anything is there, or waits for the sender's commit."""
    now = ends_now("now", "d", initiator=False, how=how)
    after = f"{told}" if how == WITH_CLEANUP else f"CD {told}"
    before = {"CO CO 2"}
    assert found(IN_FLIGHT, now, look=lying, warm=(DIALOG,))[0] - before == {
        f"{after} 0",
        *({"ER 0"} if how == WITH_CLEANUP else set()),
    }
    assert found(IN_FLIGHT, target_ends("d", "dbo.qb"), look=lying, warm=(DIALOG,))[0] == before


def test_an_initiator_that_is_ended_now_waits_for_its_sender():
    seen, result = found(
        IN_FLIGHT, ends_now("now", "d", initiator=True), look=endpoints, warm=(DIALOG,)
    )
    assert seen == {"CO CO", "DI"}
    assert result.taken["now"] > 0


def queue(world: World) -> str:
    return str(world.instance.server.database("d").resolve("dbo", "qb").enabled)


@pytest.mark.parametrize(
    ("faults", "ends"),
    [
        ((queue_off("dbo.qb", "d"),), {"True", "False"}),
        ((queue_off_and_on("dbo.qb", "d"),), {"True"}),
        ((queue_off("dbo.qb", "d"), queue_on("dbo.qb", "d")), {"True", "False"}),
    ],
    ids=["off", "off and on", "off, on"],
)
def test_a_queue_goes_off_and_on(faults, ends):
    assert found(DIALOG, *faults, look=queue)[0] == ends


def test_an_activated_reader_that_dies_is_started_again():
    reader = (
        "CREATE PROCEDURE dbo.reader AS BEGIN DECLARE @n int; BEGIN TRANSACTION; "
        "RECEIVE TOP (1) @n = 1 FROM dbo.qb; IF @n = 1 UPDATE dbo.c SET n = n + 1 "
        "WHERE id = 1; COMMIT TRANSACTION; END;"
    )
    on = (
        "ALTER QUEUE dbo.qb WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.reader, "
        "MAX_QUEUE_READERS = 1, EXECUTE AS OWNER);"
    )
    seen, result = found(DIALOG, Fault("reader_restart"), warm=(reader, on))
    assert result.taken["reader_restart"] > 0
    assert "[1, 0]" in seen


def test_an_unknown_kind_is_refused_with_all_there_are():
    with pytest.raises(ValueError, match="kinds are kill, cancel, rollback"):
        Fault("meteor")


def test_two_faults_of_one_kind_are_refused():
    with pytest.raises(ValueError, match="twice"):
        World(Scenario("twice", tables, (), faults=(Fault("kill"), Fault("kill"))))


def test_an_application_tidies_up_after_an_error_too():
    fails = "BEGIN TRANSACTION; UPDATE dbo.c SET n = 1 WHERE id = 1; THROW 50001, N'no', 1;"
    for on_error, names in (
        ("", {"lock left behind", "transaction left open"}),
        ("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;", set()),
    ):
        client = Client("T", (fails, "SELECT 1;"), "d", on_error=on_error)
        world = World(Scenario("tidy", tables, (client,)))
        while steps := world.steps():
            world.take(steps[0])
        assert world.progress.results == [((50001,), ())], "the tidying is no outcome"
        assert set(nothing_left_behind(world)) == names


def test_time_passes_while_everybody_waits_and_a_rewind_brings_it_back():
    world = World(
        Scenario("delay", tables, (Client("T", ("WAITFOR DELAY '00:00:07'; SELECT 1;",), "d"),))
    )
    clock = world.instance.clock
    start, mark = clock.now(), world.journal.mark()
    while steps := world.steps():
        world.take(steps[0])
    assert clock.now() == start + 7
    world.journal.rewind(mark)
    assert clock.now() == start
