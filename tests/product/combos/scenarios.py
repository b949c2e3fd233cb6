"""What happens to a variant: ordinary work, recycling, and every classified failure.

A scenario gets a freshly deployed ``Lab`` and leaves it at rest. ``@scenario`` registers it;
``unless`` says for which variants it has no meaning, and why is in its docstring.
"""

from __future__ import annotations

from collections.abc import Callable

from redial.render.quoting import literal
from tests.choices import ONE_DIALOG

from .lab import Lab

Scenario = Callable[[Lab], None]
ALL: dict[str, tuple[Scenario, Callable[[Lab], bool]]] = {}
COMPARED = "a_comparison_strategy_runs"
"""All a comparison strategy is asked: its faults are known and are the explorer's to find."""


def scenario(unless: Callable[[Lab], bool] = lambda lab: False) -> Callable[[Scenario], Scenario]:
    """Register a scenario under its function's name."""

    def register(function: Scenario) -> Scenario:
        ALL[function.__name__] = (function, unless)
        return function

    return register


def _recycle(lab: Lab) -> str:
    return lab.config.conversation.recycle.value


def _private_dialogs(lab: Lab) -> bool:
    """Each message has a dialog of its own, closed with it."""
    return lab.config.traits.per_message


def _hooked(lab: Lab) -> bool:
    return lab.config.target.processing.value == "hook"


def _hooked_or_waiting(lab: Lab) -> bool:
    """A hook has stories of its own; behind a dead letter a key's messages wait."""
    return _hooked(lab) or lab.config.poison.after_dead_letter.value == "wait"


def _pending_on_a_live_dialog(lab: Lab) -> int:
    """Two callers, each with a landed and two pending messages; how many pend."""
    callers = [lab.caller("A"), lab.caller("B")]
    for caller in callers:
        caller.send()
    lab.advance(3)
    lab.queue("target", "STATUS = OFF")
    for caller in callers:
        caller.send(lab.body(), None)
    return 4


# ---------------------------------------------------------------------- ordinary work
@scenario()
def sends_land(lab: Lab) -> None:
    """Several sessions and keys, in and out of transactions, with and without a body."""
    first, second, third = lab.caller("A"), lab.caller("B"), lab.caller("A")
    for caller in (first, second, third, first):
        caller.send(lab.body(), None, lab.body())
    for caller, keep in ((first, True), (second, False), (third, True)):
        caller.begin()
        caller.send(count=2)
        caller.commit() if keep else caller.rollback()
    second.send(b"")
    lab.acknowledged[-1] = (lab.acknowledged[-1][0], None)
    lab.rest(5)
    assert lab.errors() == []


@scenario(unless=lambda lab: lab.config.conversation.timer_strategy.value == "two_phase")
def a_comparison_strategy_runs(lab: Lab) -> None:
    """One caller, no race: messages land, the timer recycles, the next send begins anew."""
    caller = lab.caller("A")
    for _ in range(2):
        caller.send(count=3)
        lab.advance(80)
    lab.check()
    assert lab.pending() == []
    assert lab.states()["CO", 1] == 0


@scenario(unless=lambda lab: lab.config.conversation.delivery.value != "exactly_once")
def a_callers_retry_with_its_message_id_lands_once(lab: Lab) -> None:
    """The answer was lost, so the caller sends again: at once, and after its dialog is gone."""
    caller = lab.caller("A")
    body, number = lab.body(), "6F9619FF-8B86-D011-B42D-00C04FC964FF"
    for _ in range(2):
        caller.run(caller.call(body, number))
    lab.advance(200)
    caller.run(caller.call(body, number))
    lab.advance(5)
    rows = [row for row in lab.landed() if row["Body"] == body]
    assert [str(row["MessageId"]).upper() for row in rows] == [number]


@scenario(unless=lambda lab: not lab.config.envelope.who or _hooked(lab))
def the_envelope_tells_who_sent(lab: Lab) -> None:
    """Login, program, host and time of the caller, for a body and for none. A hook is not told."""
    lab.caller("A").send(lab.body(), None)
    lab.rest(5)
    for row in lab.landed():
        assert (row["SenderLogin"], row["SenderApp"]) == ("sa", "in-process")
        assert row["SenderHost"] == "localhost" and row["SentUtc"] is not None


# ---------------------------------------------------------------------- recycling
@scenario()
def it_recycles(lab: Lab) -> None:
    """By timer, by age, by count, when idle; or never."""
    callers = [lab.caller("A"), lab.caller("B")]
    for _ in range(3):
        for caller in callers:
            caller.send(count=3)
        lab.advance(80)
    recycle = _recycle(lab)
    lab.rest(20)
    assert lab.errors() == []
    begun = lab.rows(f"SELECT COUNT(*) FROM {lab.own('ConversationLog')};")[0][0]
    if _private_dialogs(lab):
        assert begun == 18 and lab.handles(1) == []
    elif recycle == "never":
        assert begun == len(lab.handles(1)) == len(lab.handles(0)) > 0
    else:
        one = lab.config.traits.slots or lab.config.conversation.key in ONE_DIALOG
        assert begun >= (3 if one else 6)
    if recycle == "timer":
        assert lab.handles(1) == []


@scenario(unless=lambda lab: _recycle(lab) != "aged_out")
def a_dialog_is_replaced_after_so_many_messages(lab: Lab) -> None:
    """Four and at most one more: ten messages in a row need at least two dialogs."""
    lab.caller("A").send(count=10)
    lab.rest(5)
    handles = {row["ConversationHandle"] for row in lab.landed()}
    assert 2 <= len(handles) <= 4
    assert lab.rows(f"SELECT MAX(Messages) FROM {lab.own('ConversationLog')};")[0][0] <= 6


@scenario(unless=lambda lab: not lab.has("usp_RetireIdle"))
def idle_dialogs_are_retired(lab: Lab) -> None:
    """The job compares two of its runs and closes what nobody has used between them; the next send
    begins anew."""
    caller = lab.caller("A")
    caller.send(count=2)
    for _ in range(2):
        lab.run(f"EXECUTE {lab.own('usp_RetireIdle')} @WhatIf = 0;")
        lab.advance(45)
    caller.send()
    lab.rest(5)


# ---------------------------------------------------------------------- classified failures
@scenario()
def an_error_that_can_be_recovered_from_resends(lab: Lab) -> None:
    """-8489, the lifetime is over with messages pending: byte-exact on a dialog of their own."""
    _pending_on_a_live_dialog(lab)
    lab.advance(700)
    lab.check()
    lab.queue("target", "STATUS = ON")
    lab.rest()


@scenario()
def any_other_error_dead_letters(lab: Lab) -> None:
    """A code that says the contract is broken: kept with code and body, nothing is resent."""
    pending = _pending_on_a_live_dialog(lab)
    for handle in lab.handles(1):
        lab.run(f"EXECUTE {lab.own('usp_ResendPending')} @handle = '{handle}', @code = -8425;")
    lab.queue("target", "STATUS = ON")
    lab.rest(dead=pending)
    assert {(code, side) for _, code, side in lab.dead()} == {(-8425, "initiator")}


@scenario(unless=_private_dialogs)
def an_application_error_of_the_target_dead_letters(lab: Lab) -> None:
    """END WITH ERROR, a positive code, with rows pending. A dialog per message cannot have both a
    live target and pending rows."""
    pending = _pending_on_a_live_dialog(lab)
    for handle in lab.handles(0):
        lab.run(f"END CONVERSATION '{handle}' WITH ERROR = 77 DESCRIPTION = N'no more';")
    lab.queue("target", "STATUS = ON")
    lab.rest(dead=pending)
    assert {code for _, code, _ in lab.dead()} == {77}


@scenario(unless=_private_dialogs)
def a_target_that_ends_first_has_the_rest_resent(lab: Lab) -> None:
    """EndDialog with rows pending: it was nobody's fault, so they go again."""
    _pending_on_a_live_dialog(lab)
    for handle in lab.handles(0):
        lab.run(f"END CONVERSATION '{handle}';")
    lab.queue("target", "STATUS = ON")
    lab.rest()


@scenario()
def a_dead_handle_does_not_reach_the_caller(lab: Lab) -> None:
    """The dialog dies under the sender, ended by the far side or gone altogether; its own work in
    the same transaction is kept."""
    lab.run("CREATE TABLE dbo.Work (Id int NOT NULL PRIMARY KEY);")
    callers = [lab.caller("A"), lab.caller("B")]
    for caller in callers:
        caller.send()
    lab.advance(3)
    lab.queue("initiator", "ACTIVATION (STATUS = OFF)")
    for handle in lab.handles(0):
        lab.run(f"END CONVERSATION '{handle}';")
    for number, caller in enumerate(callers):
        caller.send()
        caller.begin()
        caller.run(f"INSERT INTO dbo.Work (Id) VALUES ({number});")
        caller.send(count=2)
        caller.commit()
    lab.queue("initiator", "ACTIVATION (STATUS = ON)")
    lab.advance(10)
    for handle in lab.handles(1):
        lab.run(f"END CONVERSATION '{handle}' WITH CLEANUP;")
    for number, caller in enumerate(callers):
        caller.begin()
        caller.run(f"INSERT INTO dbo.Work (Id) VALUES ({number + 10});")
        caller.send(count=2)
        caller.commit()
        caller.send()
    lab.rest()
    assert lab.rows("SELECT COUNT(*) FROM dbo.Work;") == [(4,)]


def _poison(lab: Lab, condition: str, code: int) -> None:
    """Three good messages and two that cannot land."""
    lab.run(f"ALTER TABLE {lab.own('Landing')} ADD CONSTRAINT CK_Poison CHECK ({condition});")
    caller = lab.caller("A")
    caller.send(lab.body(), b"x", lab.body(), None, b"y", lab.body())
    lab.rest(dead=2)
    assert sorted((body, number) for body, number, _ in lab.dead()) == [(b"x", code), (b"y", code)]
    assert {side for _, _, side in lab.dead()} == {"target"}


@scenario(unless=_hooked_or_waiting)
def a_row_that_cannot_land_is_set_aside(lab: Lab) -> None:
    """547 ends the statement only: the others land, the queue stays on."""
    _poison(lab, "Body IS NULL OR Body NOT IN (0x78, 0x79)", 547)


@scenario(unless=_hooked_or_waiting)
def a_row_that_dooms_its_transaction_is_set_aside(lab: Lab) -> None:
    """245 dooms the transaction: one rollback a row at most, the queue stays on."""
    _poison(lab, "Body IS NULL OR CONVERT(int, CONVERT(varchar(10), Body)) > 0", 245)


@scenario()
def a_killed_reader_loses_nothing(lab: Lab) -> None:
    """KILL while it waits for the landing table, in the middle of its transaction."""
    holder = lab.caller()
    holder.run(f"BEGIN TRANSACTION; SELECT COUNT(*) FROM {lab.own('Landing')} WITH (TABLOCKX);")
    lab.caller("A").send(count=3)
    readers = lab.rows(
        "SELECT t.spid FROM sys.dm_broker_activated_tasks AS t "
        "WHERE t.procedure_name LIKE N'%usp_TargetActivation%';"
    )
    assert readers
    for (spid,) in readers:
        lab.run(f"KILL {spid};")
    holder.run("ROLLBACK;")
    lab.rest()


@scenario()
def queues_switched_off_and_on_again_lose_nothing(lab: Lab) -> None:
    """Both queues off under the senders, through a recycling time, and on again."""
    callers = [lab.caller("A"), lab.caller("B")]
    for caller in callers:
        caller.send()
    lab.queue("initiator", "STATUS = OFF")
    lab.queue("target", "STATUS = OFF")
    for caller in callers:
        caller.send(lab.body(), None, lab.body())
    lab.advance(100)
    lab.check()
    lab.queue("initiator", "STATUS = ON")
    lab.queue("target", "STATUS = ON")
    lab.rest()


@scenario()
def a_cancelled_sender_leaves_nothing_behind(lab: Lab) -> None:
    """The client's time-out strikes while the sender waits for what somebody else holds."""
    first, second = lab.caller("A"), lab.caller("A")
    first.send()
    second.send()
    holder = lab.caller()
    tables = [name for name in ("SessionConversations", "Gate") if lab.has(name)]
    for prefix in ("", "SET XACT_ABORT ON; "):
        for transaction in ("", "BEGIN TRANSACTION; "):
            holder.run(
                "BEGIN TRANSACTION;"
                + "".join(
                    f"SELECT COUNT(*) FROM {lab.own(table)} WITH (TABLOCKX);" for table in tables
                )
            )
            assert not first.submit(prefix + transaction + first.call(lab.body())), "no wait"
            first.cancel()
            holder.run("ROLLBACK;")
            first.rollback()
            first.run("SET XACT_ABORT OFF;")
            lab.idle()
            first.send()
            second.send()
    lab.rest()


@scenario()
def a_killed_sender_leaves_nothing_behind(lab: Lab) -> None:
    """KILL in the middle of a transaction with a message in it: it was never sent."""
    victim, other = lab.caller("A"), lab.caller("A")
    victim.send()
    victim.begin()
    victim.run(victim.call(lab.body()))
    lab.run(f"KILL {victim.session.id};")
    lab.instance.run()
    other.send(count=2)
    lab.rest()


@scenario(unless=lambda lab: True)
def a_service_dropped_by_hand_and_installed_again_accounts_for_all(lab: Lab) -> None:
    """-8470 for whoever was talking to it; installing again brings it back."""
    _pending_on_a_live_dialog(lab)
    lab.run(f"DROP SERVICE [{lab.config.services.target}];")
    lab.advance(5)
    lab.queue("target", "STATUS = ON")
    lab.deploy()
    lab.advance(120)
    lab.check()
    lab.caller("A").send()
    lab.advance(120)
    lab.check()
    assert lab.pending() == []
    assert literal(lab.config.services.target)
