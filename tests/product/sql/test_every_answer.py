"""A day of what we ship, from the first message to an administrator's NEW_BROKER, under each other answer
of each switch it asks for: every message lands, no dialog stays, and no operator's call fails."""

from __future__ import annotations

import pytest

from redial.config import load
from redial.paths import CONFIGS
from redial_broker.engine.switches import SWITCHES, Chosen, check, given, shown
from tests.product.callers.stage import WHEN_COMPILED, Stage, forget

from .bare import Bare, another
from .lab import AUDIT

ASKED = (
    "activated_set_options",
    "bad_optimizer",
    "broker_error_state",
    "broker_names",
    "end_keeps_pending",
    "endpoint_reads_wait",
    "enqueue_at",
    "error_body_bom",
    "error_receiver_state",
    "error_text_characters",
    "failed_statement_locks",
    "fire_and_forget_retention",
    "group_lock_timeout",
    "implicit_transactions_266",
    "initiator_end_acknowledged",
    "insert_rowversions",
    "new_broker_conversations",
    "order_by_ties",
    "own_message_visible",
    "ownership_chain_over_broker_verbs",
    "poison_reset",
    "relaunch",
    "retry_delay_s",
    "rowcount_after_declare",
    "rowcount_after_if",
    "snapshot_level_taken",
    "system_message_sequence",
    "system_queuing_order",
    "target_queue_off_status",
    "text_outside_of_elements",
    "timer_while_off",
    "transmission_status_shows",
)
"""Switches the day asks for, beside those a procedure is compiled with."""

INSTALLING = (
    "activated_set_options",
    "bad_optimizer",
    "broker_names",
    "end_keeps_pending",
    "enqueue_at",
    "failed_statement_locks",
    "fire_and_forget_retention",
    "group_lock_timeout",
    "insert_rowversions",
    "openjson_too_long",
    "order_by_ties",
    "own_message_visible",
    "ownership_chain_over_broker_verbs",
    "plain_read_locks",
    "poison_reset",
    "receive_order",
    "receive_status",
    "retry_delay_s",
    "rowcount_after_declare",
    "rowcount_after_if",
    "send_wait_log",
    "signer_is_member",
    "snapshot_level_taken",
    "text_outside_of_elements",
)
"""Switches that installing, changing and removing ask for."""

ANSWERS = [
    pytest.param({name: value}, id=f"{name}={shown(value)}".replace(" ", "_"))
    for name in ASKED
    for value in SWITCHES[name].values[1:]
]
TOGETHER = [
    {switch.name: switch.values[min(place, len(switch.values) - 1)] for switch in SWITCHES.values()}
    for place in range(1, max(len(switch.values) for switch in SWITCHES.values()))
]
"""Every other answer in one of them."""
IDS = [str(switches["end_over_open_send"]) for switches in TOGETHER]

OPERATORS = (
    "usp_Health",
    "usp_CheckHealth",
    "usp_Trace @key = N'k1'",
    "usp_Figures",
    "usp_Sessions",
    "usp_RetireIdle @olderThanSeconds = 1, @WhatIf = 0",
    "usp_EndLeaked @WhatIf = 0, @reason = N'day'",
    "usp_Drain @reason = N'day', @WhatIf = 0",
    "usp_OpenGate @reason = N'day'",
    "usp_ReorganizeQueue @reason = N'day', @WhatIf = 0",
    "usp_ResendStranded @olderThanSeconds = 0",
)
ENDS = ("", "WITH ERROR = 50999 DESCRIPTION = N'by hand'", "WITH CLEANUP")
SEND = (
    "EXECUTE audit.usp_Send N'//redial/audit/initiator', N'//redial/audit/target', "
    "N'//redial/audit/contract', N'//redial/audit/event', {};"
)
LONG = 7200
"""Seconds in which every timer has fired and every dialog is over."""


class Day:
    """One application that sends, and whoever interferes."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.application = stage, stage.caller()
        self.sent: list[str] = []

    def sends(self, before: str = "", behind: str = "", may: int = 0) -> None:
        """One message, and ten seconds. may: what it may be told all the same."""
        body = f"{len(self.sent) + 1:02x}"
        out = self.application.starts(f"{before} {self.stage.send(body)} {behind}")
        assert out.finished and set(self.application.errors) <= {may}, out.messages
        self.sent.append(body)
        self.stage.instance.advance(10)

    def calls(self, what: str) -> None:
        """An operator's call, which ends without an error."""
        out = self.stage.dba.starts(f"EXECUTE audit.{what};")
        for _ in range(120):
            if not out.finished:
                self.stage.instance.advance(1)
        assert out.finished and self.stage.dba.errors == [], [what, *out.messages]

    def queue(self, name: str, what: str) -> None:
        self.stage.dba.does(f"ALTER QUEUE audit.{name} WITH {what};")

    def passes(self) -> None:
        """All of it; at the end of each part everything has come to rest."""
        self.sends()
        self.sends("BEGIN TRANSACTION;", "COMMIT TRANSACTION;")
        self.sends(
            "SET IMPLICIT_TRANSACTIONS ON;", "COMMIT; SET IMPLICIT_TRANSACTIONS OFF;", may=266
        )
        self.stage.instance.advance(LONG)
        for how in ENDS:
            self.sends()
            self.stage.end_dialogs(how)
            self.sends()
            self.queue("InitiatorQueue", "ACTIVATION (STATUS = ON)")
            self.sends()
        for how in ENDS:
            for handle in self.stage.dialogs():
                self.stage.dba.does(f"END CONVERSATION '{handle}' {how};")
            self.sends()
        self.queue("InitiatorQueue", "STATUS = OFF")
        self.stage.instance.advance(LONG)
        self.queue("InitiatorQueue", "STATUS = ON")
        self.sends()
        self.queue("TargetQueue", "STATUS = OFF")
        self.sends()
        self.calls("usp_StartQueue @reason = N'day', @WhatIf = 0")
        self.queue("TargetQueue", "STATUS = OFF")
        self.sends()
        self.stage.dba.does("ALTER DATABASE lab SET NEW_BROKER WITH ROLLBACK IMMEDIATE;")
        self.application, self.stage.dba = self.stage.caller(), self.stage.caller()
        self.calls("usp_StartQueue @reason = N'day', @WhatIf = 0")
        self.sends()
        self.stage.instance.advance(LONG)
        there = {name for (name,) in self.stage.dba.rows("SELECT name FROM sys.procedures;")}
        for what in OPERATORS:
            if what.partition(" ")[0] in there:
                self.calls(what)
        self.sends()
        self.stage.instance.advance(LONG)


SHIPPED = ("audit", "etl", "logging", "orders")


def day(name: str, switches: dict[str, object], read: set[str] | None = None) -> Day:
    """A day of a shipped configuration's conversations under these answers, over. read: filled with the
    switches it asks for."""
    chosen = load(CONFIGS / f"{name}.toml").conversation.model_dump(mode="json")
    same = {each: chosen[each] for each in ("recycle", "order", "delivery")}
    stage = Stage(chosen["key"], conversation=same)
    stage.instance.engine.switches = check(switches) if read is None else Chosen(switches, read)
    made = Day(stage)
    made.passes()
    return made


def is_right(made: Day) -> None:
    """Every message has landed, those of one dialog in order, and nothing is left."""
    landed = made.stage.landed()
    assert sorted(set(landed)) == made.sent
    assert made.stage.orphans() == []
    assert made.stage.dba.rows("SELECT Body FROM audit.SentMessage;") == []
    assert made.stage.dba.rows("SELECT Body FROM audit.DeadLetter;") == []
    made.stage.is_clean()


def test_a_day_asks_for_the_switches_that_are_listed():
    read: set[str] = set()
    forget()
    for name in SHIPPED:
        is_right(day(name, {}, read))
    assert read - WHEN_COMPILED == set(ASKED)


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("switches", ANSWERS)
def test_a_day_is_right_under_each_other_answer(switches, name):
    is_right(day(name, switches))


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("switches", TOGETHER, ids=IDS)
def test_a_day_is_right_under_all_other_answers_at_once(switches, name):
    chosen = {each: value for each, value in switches.items() if each not in WHEN_COMPILED}
    is_right(day(name, chosen))


def life(bare: Bare) -> None:
    """An installation comes, changes and goes."""
    bare.deploy(AUDIT)
    changed = another(AUDIT, conversation={"key": "application"})
    bare.rows(SEND.format("0x01"))
    bare.deploy(changed)
    bare.rows(SEND.format("0x02, N'order 1'"))
    bare.remove(changed)
    assert bare.rows("SELECT name FROM sys.schemas WHERE name = N'audit';") == []
    assert bare.rows("SELECT name FROM sys.services WHERE name LIKE N'//redial/%';") == []


@pytest.mark.parametrize("switches", TOGETHER, ids=IDS)
def test_an_installation_comes_changes_and_goes_under_all_other_answers(switches):
    life(Bare(**switches))


def test_an_installation_asks_for_the_switches_that_are_listed():
    read: set[str] = set()
    with given({}, read):
        life(Bare())
    assert read == set(INSTALLING)


def test_every_other_answer_is_in_one_of_them():
    every = {(switch.name, value) for switch in SWITCHES.values() for value in switch.values[1:]}
    assert every <= {answer for switches in TOGETHER for answer in switches.items()}
