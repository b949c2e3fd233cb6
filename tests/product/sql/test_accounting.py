"""Accounting (origins: accounting): every Error a broker can deliver inside one database, and EndDialog.

Feature resend of pending on error: seed 004. One table: how a dialog with messages pending is brought
down, the code its sender is told, and whether what was pending is resent or dead-lettered. What
holds for all of them is asserted for each: every message is landed or dead-lettered, none twice,
bytes and stamps as they were sent, private dialogs end, and what had arrived lands before the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from redial.config import Config
from tests.product.seeds.lab import BODIES, EVENT, LIFETIME, Lab, small_config

TARGET, CONTRACT = "[//redial/audit/target]", "[//redial/audit/contract]"
WIRE = (
    "SELECT e.Body, e.SentUtc, e.SenderLogin, e.SenderHost FROM sys.transmission_queue AS tq "
    "CROSS APPLY audit.ufn_ReadEnvelope(tq.message_body) AS e "
    f"WHERE tq.message_type_name = N'{EVENT}' ORDER BY tq.message_sequence_number;"
)
STAMPED = (
    "SELECT Body, SentUtc, SenderLogin, SenderHost FROM audit.Landing "
    f"WHERE MessageType = N'{EVENT}' ORDER BY RowVersion;"
)


@dataclass(frozen=True)
class Case:
    """code: what ConversationLog and DeadLetter must show; arrived: what reached the target before.

    arrived "nothing": the target has no endpoint yet; "unread": a message lies in its queue;
    "landed": it was received. encrypted: dialogs are begun with ENCRYPTION = ON. each: every body is
    refused for itself: the first is a dead letter at once, the others go alone and are refused again.
    """

    code: int
    resent: bool
    trouble: Callable[[Lab], object]
    arrived: str = "nothing"
    encrypted: bool = False
    each: bool = False


def sql(*batches: str) -> Callable[[Lab], object]:
    return lambda lab: [lab.run(batch) for batch in batches]


def ends(how: str = "") -> Callable[[Lab], object]:
    return lambda lab: lab.end_target(how)


CASES = {
    "the target ends": Case(0, True, ends(), "landed"),
    "the lifetime is over": Case(-8489, True, lambda lab: lab.advance(LIFETIME)),
    "the lifetime is over behind unread": Case(
        -8489, True, lambda lab: lab.advance(LIFETIME), "unread"
    ),
    "the target is cleaned up": Case(-8462, True, ends("WITH CLEANUP"), "landed"),
    "conversations are errored": Case(
        -9719,
        True,
        sql("ALTER DATABASE Redial SET ERROR_BROKER_CONVERSATIONS WITH ROLLBACK IMMEDIATE;"),
        "unread",
    ),
    "the master key is lost": Case(
        -28052,
        True,
        sql(
            "ALTER MASTER KEY DROP ENCRYPTION BY SERVICE MASTER KEY;",
            "ALTER MASTER KEY FORCE REGENERATE WITH ENCRYPTION BY PASSWORD = N'Redial-2026y';",
            "OPEN MASTER KEY DECRYPTION BY PASSWORD = N'Redial-2026y'; "
            "ALTER MASTER KEY ADD ENCRYPTION BY SERVICE MASTER KEY; CLOSE MASTER KEY;",
        ),
        "unread",
        encrypted=True,
    ),
    "the service has lost the contract": Case(
        -8408, False, sql(f"ALTER SERVICE {TARGET} (DROP CONTRACT {CONTRACT});")
    ),
    "the contract is dropped": Case(
        -8487,
        False,
        sql(f"ALTER SERVICE {TARGET} (DROP CONTRACT {CONTRACT});", f"DROP CONTRACT {CONTRACT};"),
    ),
    "the right to send is lost": Case(
        -8494,
        False,
        sql(
            f"ALTER AUTHORIZATION ON SERVICE::{TARGET} TO dbo;",
            f"DENY SEND ON SERVICE::{TARGET} TO audit_module;",
        ),
    ),
    "the service is dropped": Case(-8470, False, sql(f"DROP SERVICE {TARGET};"), "landed"),
    "bodies must be XML now": Case(
        -9615,
        False,
        sql(f"ALTER MESSAGE TYPE [{EVENT}] VALIDATION = WELL_FORMED_XML;"),
        each=True,
    ),
    "bodies must be empty now": Case(
        -8430, False, sql(f"ALTER MESSAGE TYPE [{EVENT}] VALIDATION = EMPTY;"), each=True
    ),
    "the application's error 1": Case(
        1, False, ends("WITH ERROR = 1 DESCRIPTION = N'no'"), "landed"
    ),
    "the application's last error": Case(
        2_147_483_647, False, ends("WITH ERROR = 2147483647 DESCRIPTION = N'no'"), "landed"
    ),
}


def config(case: Case) -> Config:
    """One reader a side; every message carries who sent it and when."""
    data = small_config().model_dump(by_alias=True, mode="json")
    data["envelope"] = {"who": True}
    data["conversation"]["encryption"] = case.encrypted
    return Config.model_validate(data)


def arrange(case: Case) -> tuple[Lab, list[tuple], list[tuple]]:
    """Six messages pend. The lab, the stamps of what pends, and (sequence, bytes) of it."""
    lab = Lab(config(case))
    if case.encrypted:
        lab.run("CREATE MASTER KEY ENCRYPTION BY PASSWORD = N'Redial-2026x';")
    if case.arrived != "nothing":
        lab.target_activation("ON" if case.arrived == "landed" else "OFF")
        lab.send(b"arrived")
        lab.advance(1)
    lab.target_queue("OFF")
    for body in BODIES:
        lab.advance(1)
        lab.send(body)
    stamps, wires = lab.rows(WIRE), lab.pending()
    assert [body for body, *_ in stamps] == list(BODIES)
    assert len({sent for _, sent, *_ in stamps}) == len(BODIES)
    return lab, stamps, wires


def bring_down(lab: Lab, case: Case) -> None:
    """The trouble, then everything works again as far as it can."""
    lab.advance(5)
    case.trouble(lab)
    lab.advance(5)
    lab.target_queue("ON")
    lab.target_activation("ON")
    lab.advance(30)


@pytest.fixture(params=CASES)
def case(request) -> Case:
    return CASES[request.param]


def test_what_was_pending_is_accounted_for_once_as_it_was_sent(case):
    lab, stamps, wires = arrange(case)
    bring_down(lab, case)

    # What had arrived has landed, before the target ended.
    landed = lab.rows(STAMPED)
    first = 0 if case.arrived == "nothing" else 1
    assert [row[0] for row in landed[:first]] == [b"arrived"] * first
    assert lab.unread() == []

    # What was pending: resent with its stamps, or dead-lettered with its bytes.
    if case.resent:
        assert landed[first:] == stamps
        assert lab.dead() == []
    else:
        assert landed[first:] == []
        dead = [(number, body, case.code) for number, body in wires]
        if case.each:  # refused on a dialog each: numbers begin anew
            assert lab.dead()[:1] == dead[:1]
            dead = sorted((0, body, code) for _, body, code in dead)
        assert (sorted(lab.dead()) if case.each else lab.dead()) == dead
        assert lab.table("DeadLetter", "DISTINCT Side, MessageType") == [("initiator", EVENT)]
    assert lab.pending() == []

    # The log says so; every dialog has ended, the resend's own too.
    (row,) = lab.rows(
        "SELECT Code, Resent, DeadLettered FROM audit.ConversationLog WHERE ResendOf IS NULL;"
    )
    moved = 7 if case.arrived == "unread" else 6  # END deletes what is unread: its copy goes on
    dead_at_once = 1 if case.each else 0 if case.resent else moved
    assert row == (case.code, moved - dead_at_once, dead_at_once)
    alone = lab.rows(
        "SELECT Code, Resent, DeadLettered FROM audit.ConversationLog WHERE ResendOf IS NOT NULL;"
    )
    assert not case.each or alone == [(case.code, 0, 1)] * (moved - 1)
    assert lab.handles(1) == []
    assert lab.handles(0) == []  # of a first message that was refused too (F-366)
    assert lab.errors() == [] and lab.queues_on()
    lab.at_rest()


@pytest.mark.parametrize("name", [n for n, case in CASES.items() if case.resent or case.code > 0])
def test_a_sender_afterwards_is_served_where_the_set_up_still_stands(name):
    lab, *_ = arrange(CASES[name])
    bring_down(lab, CASES[name])
    lab.send(b"next")
    lab.advance(5)
    assert lab.landed()[-1] == b"next"
    lab.at_rest()


UNREADABLE = [
    "NULL",
    "0x",
    "0x00",
    "0xFFFE",
    "0xFFFE3C00",
    "CONVERT(varbinary(max), N'<Error/>')",
    "CONVERT(varbinary(max), N'<Error xmlns=\"http://schemas.microsoft.com/SQL/ServiceBroker/Error"
    "\"><Code>x</Code></Error>')",
    "CONVERT(varbinary(max), N'<Error xmlns=\"http://schemas.microsoft.com/SQL/ServiceBroker/Error"
    "\"><Code>99999999999</Code></Error>')",
    "CONVERT(varbinary(max), N'<!DOCTYPE x><Error/>')",
]


@pytest.fixture(scope="module")
def quiet() -> Lab:
    return Lab()


@pytest.mark.parametrize("body", UNREADABLE)
def test_an_error_nobody_can_read_dooms_nothing_and_has_no_code(quiet, body):
    rows = quiet.rows(
        "DECLARE @code int = 7, @description nvarchar(3000), @state int; BEGIN TRANSACTION; "
        f"DECLARE @body varbinary(max) = {body}; "
        "EXECUTE audit.usp_ReadErrorBody @body, @code OUTPUT, @description OUTPUT; "
        "SET @state = XACT_STATE(); ROLLBACK TRANSACTION; SELECT @code, @state;"
    )
    assert rows == [(None, 1)]


def test_a_resend_whose_acknowledgement_was_lost_is_the_only_way_to_land_twice():
    """F-110. Without an inbox it lands twice; tests/product/sql/test_Inbox.py has it land once."""
    lab = Lab()
    lab.target_activation("OFF")
    lab.send(b"once")
    body = lab.unread()[0][1]
    lab.run(
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//redial/audit/initiator] "
        f"TO SERVICE N'//redial/audit/target' ON CONTRACT {CONTRACT} WITH ENCRYPTION = OFF; "
        f"SEND ON CONVERSATION @h MESSAGE TYPE [{EVENT}] (0x{body.hex()});"
    )
    lab.target_activation("ON")
    assert lab.landed() == [b"once", b"once"]
