"""Scenarios of other people's designs (``sql/comparators``), for comparison only."""

from __future__ import annotations

from typing import cast

from redial_broker.instance.instance import Instance
from redial_lab.explore.checks import no_deadlock
from redial_lab.explore.world import Client, Scenario, World
from redial_lab.proof.audit_setups import (
    DATABASE,
    TARGET_IN_ONE_GO,
    TIDY,
    accounted,
    deployed,
    small_config,
)

_TYPES = {
    "@xmlPayload": "xml",
    "@binaryPayload": "varbinary(max)",
    "@varcharPayload": "varchar(max)",
}


def send_message(payload: str, name: str = "@binaryPayload") -> str:
    """T-SQL that calls seed 002's procedure; payload: an expression for the parameter name."""
    return (
        f"DECLARE @payload {_TYPES[name]} = {payload}; EXECUTE audit.usp_SendMessage "
        f"@endpointGroup = 'audit', {name} = @payload;"
    )


def send_shared(body: str) -> str:
    """T-SQL that calls seed 001's design; body: hexadecimal digits."""
    return f"EXECUTE audit.usp_SendShared 0x{body};"


def forum_pair(*, in_transaction: bool, rcsi: bool = True, name: str = "forum_pair") -> Scenario:
    """Seed 002's procedures under two callers, one reader and one recycle. The thread ran RCSI."""
    send = _in_a_transaction if in_transaction else send_message
    tidy = TIDY if in_transaction else ""
    warm = Client("sender A", (send("0xA1"),), DATABASE, (send_message("0xA0"),), tidy)
    cold = Client("sender B", (send("0xB0"),), DATABASE, (), tidy)
    mode = "own transactions" if in_transaction else "autocommit"
    title = f"{name}, 2 callers in {mode}, {'RCSI' if rcsi else 'RC'}, firings 1"

    def make() -> Instance:
        return deployed(small_config(), rcsi=rcsi, mutant=name)

    if in_transaction:
        return Scenario(
            title,
            make,
            (warm, cold),
            on_every_state=no_deadlock,
            in_one_go=frozenset({"TargetQueue"}),
            notes=(TARGET_IN_ONE_GO,),
        )
    return Scenario(title, make, (warm, cold), at_the_end=accounted({(0, 0): "A1", (1, 0): "B0"}))


def forum_aged(*, in_transaction: bool, job: bool) -> Scenario:
    """Seed 002's final version: a caller whose dialog is past its age, beside the nightly job.

    job: whether the job runs at all.
    """
    send = _in_a_transaction if in_transaction else send_message
    before = (
        send_message("0xA0"),
        "UPDATE audit.ServiceBrokerConversations SET CreateDate = '2000-01-01';",
    )
    sender = Client("sender A", (send("0xA1"),), DATABASE, before, TIDY if in_transaction else "")
    clients = cast("tuple[Client, ...]", (sender,))
    if job:
        clients += (Client("job", ("EXECUTE audit.usp_PurgeConversations;",), DATABASE),)
    mode = "own transactions" if in_transaction else "autocommit"
    return Scenario(
        f"forum_aged, 1 caller in {mode}, {'the job' if job else 'no job'}, RC",
        lambda: deployed(small_config(), mutant="forum_aged"),
        clients,
        on_every_state=no_deadlock,
        at_the_end=accounted({(0, 0): "A1"}),
        in_one_go=frozenset({"TargetQueue"}),
        notes=(TARGET_IN_ONE_GO,),
    )


def shared_dialog() -> Scenario:
    """Seed 001's design under two first users."""
    clients = tuple(
        Client(f"sender {n}", (send_shared(body),), DATABASE)
        for n, body in (("A", "A1"), ("B", "B1"))
    )
    return Scenario(
        "shared_dialog, 2 first users in autocommit, RC",
        lambda: deployed(small_config(), mutant="shared_dialog"),
        clients,
        on_every_state=no_deadlock,
        at_the_end=_one_dialog,
        in_one_go=frozenset({"TargetQueue"}),
        notes=(TARGET_IN_ONE_GO,),
    )


def _one_dialog(world: World) -> list[str]:
    """Everybody shares one dialog: that is the design."""
    broker = world.instance.server.database(DATABASE).broker
    open_ = [e for e in broker.endpoints.values() if e.is_initiator and not e.own]
    return ["two dialogs"] if len(open_) > 1 else []


def _in_a_transaction(payload: str) -> str:
    return f"BEGIN TRANSACTION; {send_message(payload)} COMMIT TRANSACTION;"
