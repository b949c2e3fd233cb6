"""Total-queue accounting and livelocks, on a table that stands for a queue."""

from __future__ import annotations

import pytest

from redial_broker.instance.instance import Instance
from redial_lab.explore import Client, Scenario, World, search
from redial_lab.explore.faults import Fault
from redial_lab.explore.message_accounts import Ledger, Places, balanced
from tests.lab.explore.tables import database


def boxes() -> Instance:
    return database(
        *(
            f"CREATE TABLE dbo.{table} (body varchar(9) NOT NULL);"
            for table in ("arrived", "waiting", "dead")
        ),
        "INSERT dbo.arrived VALUES ('old');",
    )


def held(table: str):
    def look(world: World) -> list[str]:
        found = world.instance.server.database("d").resolve("dbo", table)
        return [row[0] for row in found.rows.entries.values()]

    return look


PLACES = Places(held("arrived"), held("waiting"), held("dead"))
PUT = "INSERT dbo.{0} VALUES ('m');"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (PUT.format("arrived"), set()),
        (PUT.format("waiting"), set()),
        (PUT.format("dead"), set()),
        ("SELECT 1;", {"acknowledged message lost"}),
        (PUT.format("arrived") + PUT.format("waiting"), {"message doubled"}),
        (PUT.format("arrived") + "THROW 50001, N'no', 1;", {"refused message arrived"}),
        (PUT.format("arrived") + "INSERT dbo.arrived VALUES ('x');", {"message from nowhere"}),
        ("DELETE dbo.arrived;" + PUT.format("arrived"), {"acknowledged message lost"}),
    ],
    ids=["landed", "pending", "dead-lettered", "silent", "doubled", "refused", "nowhere", "stolen"],
)
def test_each_kind_of_wrong_total_has_its_name(text, names):
    ledger = Ledger({(0, 0): ("m",)}, PLACES, ("old",))
    result = search(
        Scenario(
            "total",
            boxes,
            (Client("T", (text,), "d"),),
            at_the_end=balanced(ledger),
            account=ledger,
        )
    )
    assert set(result.violations) == names


def test_what_a_killed_or_cancelled_client_sent_may_be_there_or_not():
    ledger = Ledger({(0, 0): ("m",)}, PLACES, ("old",))
    result = search(
        Scenario(
            "total",
            boxes,
            (Client("T", (PUT.format("arrived"),), "d"),),
            at_the_end=balanced(ledger),
            account=ledger,
            faults=(Fault("kill"), Fault("cancel")),
        )
    )
    assert result.violations == {}
    assert any("attempted 1, acknowledged 0, refused 0, landed 1" in one for one in result.accounts)
    assert sum(result.accounts.values()) == result.ends


def test_a_loop_without_time_is_a_livelock_and_one_that_waits_is_not():
    spin = "WHILE 1 = 1 BEGIN IF EXISTS (SELECT 1 FROM dbo.waiting) BREAK; {0} END;"
    for wait, names in (("", {"livelock"}), ("WAITFOR DELAY '00:00:01';", set())):
        result = search(
            Scenario("loop", boxes, (Client("T", (spin.format(wait),), "d"),), livelock="livelock")
        )
        assert set(result.violations) == names
        assert result.circles > 0


def test_a_loop_that_another_session_ends_is_none():
    """The one who spins is not to blame for a scheduler that never lets the other run."""
    spin = "WHILE NOT EXISTS (SELECT 1 FROM dbo.waiting) SELECT 1;"
    result = search(
        Scenario(
            "loop",
            boxes,
            (Client("T", (spin,), "d"), Client("U", (PUT.format("waiting"),), "d")),
            livelock="livelock",
        )
    )
    assert (set(result.violations), result.ended) == (set(), True)
