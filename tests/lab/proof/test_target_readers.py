"""Two readers of the target under the search: ids in common (F-165), doomed rows (F-162)."""

from __future__ import annotations

import pytest

from redial.config import Config
from redial.render import render
from redial.tsql import split_batches
from redial_broker.instance.instance import Instance
from redial_lab.explore import Scenario, search
from redial_lab.explore.checks import all_of, no_deadlock, nothing_left_behind
from redial_lab.explore.world import Client, World
from redial_lab.proof.audit_setups import DATABASE, EVENT, deployed, rows, small_config
from tests.envelopes import envelope

from .bounds import far_enough, most

READ = "EXECUTE audit.usp_TargetActivation;"
STILL = ("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);",)
DOOM = (
    "CREATE TRIGGER audit.TR_Landing ON audit.Landing AFTER INSERT AS BEGIN SET NOCOUNT ON; "
    "IF EXISTS (SELECT 1 FROM inserted WHERE Body = 0x66) "
    "BEGIN DECLARE @n int = CONVERT(int, N'x'); END; END;"
)


def config(delivery: str, readers: int) -> Config:
    """The small configuration with another delivery and the text for that many readers."""
    data = small_config().model_dump(by_alias=True, mode="json")
    data["conversation"]["delivery"] = delivery
    data["target"]["readers"] = readers
    return Config.model_validate(data)


def dialog(*bodies: str) -> str:
    """T-SQL: these bodies (expressions) on a dialog of their own, past usp_Send, with their copies."""
    sends = "".join(
        f"SET @b = {body}; SEND ON CONVERSATION @h MESSAGE TYPE [{EVENT}] (@b); INSERT INTO "
        "audit.SentMessage (ConversationId, MessageSequence, MessageType, Body) SELECT "
        f"ce.conversation_id, {number}, N'{EVENT}', @b FROM sys.conversation_endpoints AS ce "
        "WHERE ce.conversation_handle = @h;"
        for number, body in enumerate(bodies)
    )
    return (
        "DECLARE @h uniqueidentifier, @b varbinary(max); BEGIN DIALOG @h "
        "FROM SERVICE [//redial/audit/initiator] TO SERVICE N'//redial/audit/target' "
        f"ON CONTRACT [//redial/audit/contract] WITH ENCRYPTION = OFF; {sends}"
    )


def enveloped(number: int) -> str:
    """A body that is that number, with that message id."""
    return envelope(bytes([number]), message_id=number)


def prepared(chosen: Config, *first: str, optimized: bool = False) -> Instance:
    """optimized: the database is one of 2025, where a change passes over what is not committed."""
    switches = {"optimized_locking": "on"} if optimized else None
    return deployed(chosen, first=(*STILL, *first), rcsi=optimized, switches=switches)


def landed(world: World) -> list[str]:
    return sorted(row[0].hex() for row in rows(world, "Landing", "Body") if row[0])


def once(world: World) -> list[str]:
    """Ids 1 and 2 were sent twice, each landed once and the repeats were counted."""
    problems = [] if landed(world) == ["01", "02"] else ["not landed once"]
    repeats = sum(row[0] for row in rows(world, "Inbox", "Repeats"))
    return problems if repeats in (1, 2) else [*problems, "repeats not counted"]


def no_error_logged(world: World) -> list[str]:
    return ["error logged"] if rows(world, "ErrorLog", "ErrorNumber") else []


@pytest.mark.parametrize("second", [(1, 2), (2, 1)], ids=["same order", "opposite order"])
@pytest.mark.parametrize("kills", [0, 1])
@pytest.mark.parametrize("optimized", [False, True], ids=["", "optimized locking"])
def test_readers_with_ids_in_common_never_deadlock_and_land_each_once(second, kills, optimized):
    two = (dialog(enveloped(1), enveloped(2)), dialog(*map(enveloped, second)))
    readers = tuple(Client(f"reader {name}", (READ,), DATABASE) for name in "AB")
    result = search(
        Scenario(
            f"inbox, 2 readers, kills {kills}",
            lambda: prepared(config("exactly_once", 2), *two, optimized=optimized),
            readers,
            on_every_state=no_deadlock,
            kills=kills,
            at_the_end=nothing_left_behind
            if kills
            else all_of(once, no_error_logged, nothing_left_behind),
        )
    )
    print(result)
    assert result.ended, result.bounded_by
    assert result.violations == {} and result.ends > 0


def test_in_another_order_than_that_of_the_ids_they_do_deadlock():
    """What the order is for: the rows' own order is not the same for both."""
    chosen = config("exactly_once", 2)
    text = render(chosen)["77_02_usp_LandBatch.procedure.sql"]
    wrong = text.replace("ORDER BY e.MessageId, r.RowId;", "ORDER BY r.RowId;")
    assert wrong != text
    first = (
        *(batch.sql for batch in split_batches(wrong)),
        dialog(enveloped(1), enveloped(2)),
        dialog(enveloped(2), enveloped(1)),
    )
    result = search(
        Scenario(
            "inbox in the order of the rows",
            lambda: prepared(chosen, *first),
            tuple(Client(f"reader {name}", (READ,), DATABASE) for name in "AB"),
            on_every_state=no_deadlock,
        )
    )
    assert "deadlock" in result.violations


def poison_apart(world: World) -> list[str]:
    """Every doomed row is dead-lettered once, its neighbour landed, the queue is on."""
    dead = [row[0].hex() for row in rows(world, "DeadLetter", "Body")]
    problems = [] if dead == ["66", "66"] and landed(world) == ["01"] else ["not accounted"]
    queue = world.instance.server.database(DATABASE).resolve("audit", "TargetQueue")
    return problems if queue.enabled else [*problems, "queue off"]


def test_readers_with_a_doomed_row_each_dead_letter_it_and_nothing_else():
    """With a neighbour in both, before and behind it: 169,060 states, three minutes, clean. Here
    one has a neighbour, and only --full goes to the end."""
    two = (DOOM, dialog("0x66"), dialog("0x66", "0x01"))
    readers = tuple(Client(f"reader {name}", (READ,), DATABASE) for name in "AB")
    result = search(
        Scenario(
            "poison, 2 readers",
            lambda: prepared(config("at_least_once", 2), *two),
            readers,
            on_every_state=no_deadlock,
            at_the_end=all_of(poison_apart, nothing_left_behind),
        ),
        limits := most(4_000),
    )
    print(result)
    assert far_enough(result, limits), result.bounded_by
    assert result.violations == {} and result.ends > 0
