"""Scenarios of the timer strategies and look-up hints that exist for comparison only."""

from __future__ import annotations

from redial.config import Config
from redial_broker.exec.machine import VICTIM
from redial_lab.explore.checks import all_of, no_deadlock, nothing_left_behind
from redial_lab.explore.world import Client, Scenario, World
from redial_lab.proof.audit_setups import (
    DATABASE,
    EVENT,
    TARGET_IN_ONE_GO,
    TIDY,
    accounted,
    callers,
    deployed,
    end_of_stream_once,
    no_orphan_dialog,
    send,
    small_config,
)


def no_sender_victim(world: World) -> list[str]:
    """No caller has been a deadlock's victim: what seed 002's poster asks for."""
    said = [number for results in world.progress.results for one in results for number in one]
    return ["a sender is the victim"] if VICTIM in said else []


def queue_on(world: World) -> list[str]:
    """Five rollbacks have not switched the initiator's queue off."""
    queue = world.instance.server.database(DATABASE).resolve("audit", "InitiatorQueue")
    return [] if queue.enabled else ["queue switched off"]


def strategy(
    name: str, *, in_transaction: bool = True, rcsi: bool = False, cold: bool = False
) -> Scenario:
    """A timer strategy under one caller with a dialog, one reader and one recycle.

    cold: also a caller whose first send this is.
    """
    clients, bodies = callers(in_transaction=in_transaction, cold=cold)
    mode = "own transactions" if in_transaction else "autocommit"
    return Scenario(
        f"{name}, {len(clients)} caller(s) in {mode}, {'RCSI' if rcsi else 'RC'}, firings 1",
        lambda: deployed(small_config(name), rcsi=rcsi),
        clients,
        on_every_state=all_of(no_deadlock, no_sender_victim),
        at_the_end=all_of(
            accounted(bodies), end_of_stream_once, nothing_left_behind, no_orphan_dialog, queue_on
        ),
        in_one_go=frozenset({"TargetQueue"}),
        notes=(TARGET_IN_ONE_GO,),
    )


def hinted(hint: str) -> Config:
    """The small configuration with key = application and another look-up hint."""
    data = small_config().model_dump(by_alias=True, mode="json")
    data["conversation"]["key"] = "application"
    data["comparison"]["lookup_hint"] = hint
    return Config.model_validate(data)


def _send(body: str) -> str:
    return (
        "EXECUTE audit.usp_Send N'//redial/audit/initiator', N'//redial/audit/target', "
        f"N'//redial/audit/contract', N'{EVENT}', 0x{body}, @key = N'k';"
    )


_DIES = (
    "ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);",
    "DECLARE @h uniqueidentifier = (SELECT ce.conversation_handle "
    "FROM sys.conversation_endpoints AS ce WHERE ce.is_initiator = 0); END CONVERSATION @h;",
)


def lookup(
    hint: str, *, in_transaction: bool = False, firings: int = 1, dead: bool = False
) -> Scenario:
    """Two callers of one key under a look-up hint; the dialog is there before they begin.

    dead: its target has ended it, and nobody has told the initiator's row yet.
    """
    before = (_send("A0"), *(_DIES if dead else ()))

    def text(body: str) -> str:
        return (
            f"BEGIN TRANSACTION; {_send(body)} COMMIT TRANSACTION;"
            if in_transaction
            else _send(body)
        )

    clients = tuple(
        Client(f"sender {name}", (text(body),), DATABASE, before if name == "A" else (), TIDY)
        for name, body in (("A", "A1"), ("B", "B1"))
    )
    return Scenario(
        f"lookup_hint {hint}, 2 callers of one key, {'dead' if dead else 'live'} dialog, "
        f"firings {firings}",
        lambda: deployed(hinted(hint)),
        clients,
        on_every_state=no_deadlock,
        at_the_end=all_of(accounted({(0, 0): "A1", (1, 0): "B1"}), end_of_stream_once),
        in_one_go=frozenset({"TargetQueue"}),
        firings=firings,
        notes=(TARGET_IN_ONE_GO,),
    )


def dying(mutant: str | None = None) -> Scenario:
    """A caller finds its dialog dead while activation drops the row of that dialog.

    The target has ended the dialog while the initiator's activation was off; a DBA switches it on.
    """
    off, ends = _DIES
    caller = Client(
        "sender A",
        (f"BEGIN TRANSACTION; {send('A1')} COMMIT TRANSACTION;",),
        DATABASE,
        (send("A0"), off, ends),
        TIDY,
    )
    dba = Client("DBA", (off.replace("OFF", "ON"),), DATABASE)
    return Scenario(
        f"{mutant or 'two_phase'}, 1 caller in own transaction, its dialog dead, RC",
        lambda: deployed(small_config(), mutant=mutant),
        (caller, dba),
        on_every_state=no_deadlock,
        at_the_end=all_of(accounted({(0, 0): "A1"}), nothing_left_behind, no_orphan_dialog),
        in_one_go=frozenset({"TargetQueue"}),
        firings=0,
        notes=(TARGET_IN_ONE_GO,),
    )
