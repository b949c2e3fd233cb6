"""The twelve incidents of docs/runbook/incidents.md, from end to end, with the statements of the page.

1. Senders send. 2. It happens, and they go on sending. 3. What the page says you see is seen. 4. Who the
page says runs what the page says. 5. Everything acknowledged has landed, and the findings are gone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from redial.config import Config
from redial.paths import ROOT
from redial.quoting import literal
from redial_broker.exec import replicas, trouble
from tests.product.findings.faults_of_database import restored_copy
from tests.product.findings.faults_of_jobs import CONFIG as JOBS
from tests.product.findings.faults_of_jobs import RAN, jobs
from tests.product.findings.scenario import OPS, deploy, edited, ids
from tests.product.sql.lab import AUDIT, Client, Lab, configured, send
from tests.product.sql.two import DEPOT, Two

PAGE = (ROOT / "docs" / "runbook" / "incidents.md").read_text("utf-8")
PARTS = re.split(r"^## (\d+)\. .*$", PAGE, flags=re.MULTILINE)[1:]
TEXTS = dict(zip(map(int, PARTS[::2]), PARTS[1::2], strict=True))
AS = {"an operator": "ops", "a member of db_owner": "owner", "an administrator of the server": ""}
"""Who runs a statement, by the first words of its first line."""


ACTIVATION = "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = {});"


class House:
    """Senders, who note what was acknowledged, and a configuration that they send with."""

    def __init__(self, config: Config, **switches: Any) -> None:
        self.lab = Lab(config, **switches)
        self.lab.sa.execute(OPS)
        self.acknowledged: list[bytes] = []
        self._number = 0

    def say(self, count: int = 1, key: str = "N'a'") -> None:
        """Each from a session of its own, which leaves where it is answered."""
        keyed = self.lab.config.traits.named
        for _ in range(count):
            self._number += 1
            body = self._number.to_bytes(2, "big")
            client = Client(self.lab)
            client.submit(send(f"0x{body.hex()}", key=key if keyed else None))
            if client.out.finished:
                if not client.errors:
                    self.acknowledged.append(body)
                self.lab.instance.disconnect(client.session)

    def landed(self) -> set[bytes]:
        return {body for body in self.lab.bodies() if body}


@dataclass(frozen=True)
class Incident:
    """What happens, and what stands on the page about it."""

    happens: Callable[[House], object]
    seconds: float = 400
    """Until somebody looks."""
    config: Config = AUDIT
    over: Callable[[House], object] = lambda house: None
    """What is mended outside of SQL: a disk, a clock, a service."""
    rest: float = 120
    """Seconds until all is well."""
    before: Callable[[Lab], object] = lambda lab: None
    stays: frozenset[str] = field(default=frozenset({"errors"}))
    """Findings of what was: they go with time."""


def run_page(number: int, house: House) -> None:
    """The statements of the page, as who it says."""
    for kind, block in re.findall(r"```(sql|sh)\n(.*?)```", TEXTS[number], re.DOTALL):
        if kind == "sh":
            assert block.strip() == "redial deploy --config audit"
            deploy(house.lab)
            continue
        for who, sql in re.findall(
            r"^-- ([^;:,\n]+)[^\n]*\n((?:(?!-- ).*\n)+)", block, re.MULTILINE
        ):
            user = AS[who.strip()]
            blocking = [
                r[2] for r in house.lab.rows("EXECUTE audit.usp_Health;") if r[7] == "blocking"
            ]
            if blocking:
                sql = sql.replace("55", re.findall(r"session (\d+)", blocking[0])[0])
            if user:
                sql = f"EXECUTE AS USER = N'{user}'; {sql} REVERT;"
            house.lab.sa.execute(sql)


def slow_hook(house: House) -> None:
    ((text,),) = house.lab.rows("SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.usp_ProcessMessage'));")
    house.lab.sa.execute(
        text.replace("CREATE PROCEDURE", "ALTER PROCEDURE").replace(
            "SET NOCOUNT ON;", "SET NOCOUNT ON; WAITFOR DELAY '00:00:02';"
        )
    )
    edited("vw_Findings", "q.Messages > 100000", "q.Messages > 100")(house.lab)
    house.say(250)


def log_full(house: House) -> None:
    """While messages wait in the queue."""
    house.lab.sa.execute(ACTIVATION.format("OFF"))
    house.say(10)
    trouble.begin(house.lab.instance.database("lab"), trouble.LOG_FULL)
    house.lab.sa.execute(ACTIVATION.format("ON"))


def room_again(house: House) -> None:
    trouble.end(house.lab.instance.database("lab"))


def other_owner(house: House) -> None:
    lab = house.lab
    lab.sa.execute("CREATE LOGIN dba WITH PASSWORD = N'Some-Word-1';")
    replicas.lose_owner(lab.instance.database("lab"), lab.sa.value("SUSER_SID(N'dba')"))


def forgotten(house: House) -> None:
    Client(house.lab).execute("BEGIN TRANSACTION; " + send("0xFFFF", key="N'a'"))
    Client(house.lab).submit(send("0xFFFE", key="N'a'"))


def wrong_release(house: House) -> None:
    """The release that worked is kept, as a procedure that brings it back."""
    lab = house.lab
    ((text,),) = lab.rows("SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.usp_ProcessMessage'));")
    right = text.replace("CREATE PROCEDURE", "ALTER PROCEDURE")
    keeps = f"CREATE PROCEDURE dbo.release_that_worked AS EXECUTE ({literal(right)});"
    lab.sa.execute(f"EXECUTE ({literal(keeps)});")
    lab.sa.execute(
        right.replace("SET NOCOUNT ON;", "SET NOCOUNT ON; THROW 50999, N'no such column', 1;")
    )
    house.say(40)


def renamed(house: House) -> None:
    house.lab.sa.execute(
        "DROP SERVICE [//redial/audit/target]; CREATE SERVICE [//redial/audit/target2] "
        "ON QUEUE audit.TargetQueue ([//redial/audit/contract]);"
    )
    house.say(20)


def begun_by_hand(house: House) -> None:
    house.lab.sa.execute(
        "DECLARE @h uniqueidentifier, @i int = 0; WHILE @i < 1500 BEGIN "
        "BEGIN DIALOG @h FROM SERVICE [//redial/audit/initiator] TO SERVICE N'//redial/audit/target' "
        "ON CONTRACT [//redial/audit/contract]; SET @i += 1; END;"
    )


OFF = "ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;"
INCIDENTS = {
    1: Incident(
        slow_hook,
        60,
        configured(target={"processing": "hook", "readers": 1, "receive_batch": 10}),
        over=lambda house: house.lab.advance(900),
    ),
    3: Incident(log_full, 700, over=room_again, rest=200),
    4: Incident(lambda house: restored_copy(house.lab, "copy"), 5),
    5: Incident(other_owner, 60),
    6: Incident(forgotten, 60, configured(conversation={"key": "application"})),
    7: Incident(
        wrong_release,
        60,
        configured(target={"processing": "hook", "receive_batch": 5}, poison={"slow_after": 10}),
    ),
    8: Incident(renamed, 120, stays=frozenset({"errors", "leaked"})),
    10: Incident(lambda house: (house.lab.sa.execute(OFF), house.say(300)), 200),
    11: Incident(begun_by_hand, 60),
    12: Incident(
        lambda house: house.lab.advance(3 * 86_400),
        60,
        JOBS,
        over=lambda house: house.lab.sa.execute(RAN.format(1, "")),
        before=jobs,
    ),
}


@pytest.mark.parametrize("number", INCIDENTS)
def test_it_is_noticed_mended_and_nothing_is_lost(number):
    incident = INCIDENTS[number]
    house = House(incident.config)
    house.say(5)
    house.lab.advance(5)
    incident.before(house.lab)
    assert ids(house.lab) == set()
    # 2
    incident.happens(house)
    for _ in range(4):
        house.say(3, key="N'b'")
        house.lab.advance(incident.seconds / 4)
    # 3
    seen = re.findall(r"`([a-z-]+)`", TEXTS[number].partition("```")[0])
    named = [
        one
        for one in seen
        if one in {row[7] for row in house.lab.rows("EXECUTE audit.usp_Health;")}
    ]
    assert named and seen[0] == named[0], (seen, ids(house.lab))
    # 4
    incident.over(house)
    run_page(number, house)
    # 5
    house.say(5, key="N'c'")
    for _ in range(20):
        house.lab.advance(incident.rest / 20)
        if number == 11:
            run_page(number, house)
    assert set(house.acknowledged) - house.landed() == set()
    assert ids(house.lab) <= incident.stays
    assert len(house.acknowledged) >= 10


def test_two_databases_a_day_apart():
    """Incident 2: the target's database is offline for a day, and everything lands afterwards."""
    two = Two()
    sent = []

    def say(count: int) -> None:
        for _ in range(count):
            sent.append(len(sent).to_bytes(2, "big"))
            two.send(f"0x{sent[-1].hex()}")

    say(3)
    two.instance.advance(30)
    name = DEPOT.replace("]", "]]")
    two.run(f"ALTER DATABASE [{name}] SET OFFLINE WITH ROLLBACK IMMEDIATE;", "master")
    for _ in range(24):
        say(2)
        two.instance.advance(3600)
    seen = {row[7] for row in two.run("EXECUTE audit.usp_Health;")}
    assert "unlanded-long" in seen
    (statement,) = re.findall(r"^ALTER DATABASE .*$", TEXTS[2], re.MULTILINE)
    two.run(statement.replace("[depot]", f"[{name}]"), "master")
    say(2)
    two.instance.advance(600)
    assert set(sent) - set(two.bodies()) == set()
    assert two.run("SELECT MessageSequence FROM audit.SentMessage;") == []


def test_a_clock_that_was_a_month_ahead():
    """Incident 9: every dialog has expired; what was on its way is sent again without anybody's doing."""
    house = House(AUDIT)
    house.say(5)
    house.lab.advance(5)
    # 1. Messages wait on dialogs whose lifetime is over at one blow.
    house.lab.sa.execute(ACTIVATION.format("OFF"))
    house.say(10)
    house.lab.instance.clock.advance(40 * 86_400)
    house.lab.sa.execute(ACTIVATION.format("ON"))
    house.say(10)
    house.lab.advance(600)
    # 2. The page's query shows it.
    [(_, query)] = re.findall(r"```(sql)\n(SELECT .*?)```", TEXTS[9], re.DOTALL)
    assert {row[0] for row in house.lab.rows(query)} == {-8489}
    # 3. Nothing is lost, and nothing is left to do.
    house.say(5)
    house.lab.advance(600)
    assert set(house.acknowledged) - house.landed() == set()
    assert ids(house.lab) <= {"errors"}


def test_every_incident_of_the_page_is_played():
    assert set(TEXTS) == {*INCIDENTS, 2, 9} == set(range(1, 13))
