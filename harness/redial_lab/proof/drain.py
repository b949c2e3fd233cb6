"""The drain under search: callers of usp_Send and an operator who calls usp_Drain meanwhile."""

from __future__ import annotations

from dataclasses import replace

from redial.config import Config
from redial.config.keys import every_key
from redial_lab.explore.checks import all_of, no_deadlock, nothing_left_behind
from redial_lab.explore.world import Client, Scenario, World
from redial_lab.proof.audit_setups import (
    DATABASE,
    EVENT,
    TARGET_IN_ONE_GO,
    accounted,
    callers,
    deployed,
    end_of_stream_once,
    no_orphan_dialog,
    rows,
    send,
    small_config,
)

GATE_CLOSED = 50102
DRAIN = (
    "DECLARE @r int; "
    "EXECUTE @r = audit.usp_Drain @reason = N'search', @waitSeconds = 3600, @WhatIf = 0; "
    "IF @r <> 0 THROW 51000, N'not drained', 1; "
    "INSERT INTO dbo.AfterDrain (Messages) "
    f"SELECT COUNT(*) FROM audit.Landing AS l WHERE l.MessageType = N'{EVENT}';"
)
"""Drains, then notes how many messages had landed by then: none may come later."""

MARKER = "CREATE TABLE dbo.AfterDrain (Messages int NOT NULL);"


def with_key(key: str) -> Config:
    """The small configuration with another key; a pool of two slots."""
    data = small_config().model_dump(by_alias=True, mode="json")
    data["conversation"]["key"] = key
    if not every_key()[key].has_rows:
        data["conversation"]["recycle"] = "never"
    data["pool"] = {"size": 2, "wait_ms": 1000}
    return Config.model_validate(data)


def in_a_tidy_transaction(body: str) -> str:
    """A caller's own transaction around one send, rolled back when it is refused."""
    return (
        f"BEGIN TRY BEGIN TRANSACTION; {send(body)} COMMIT TRANSACTION; END TRY "
        "BEGIN CATCH IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; THROW; END CATCH;"
    )


def in_or_refused(world: World) -> list[str]:
    """Every caller got in, or got 50102 and nothing else; the operator's drain came to its end."""
    *senders, operator = world.progress.results
    problems = []
    if any(errors not in ((), (GATE_CLOSED,)) for results in senders for errors in results):
        problems.append("a sender got another error than 50102")
    if any(errors for errors in operator):
        problems.append("the drain failed")
    return problems


def nothing_after_the_drain(world: World) -> list[str]:
    """What had landed when the drain said so is all there is, and no endpoint is open."""
    found = world.instance.server.database(DATABASE).resolve("dbo", "AfterDrain")
    noted = [row[0] for row in found.rows.entries.values()]
    landed = sum(row[0] == EVENT for row in rows(world, "Landing", "MessageType"))
    return ["message after the drain"] if noted and noted != [landed] else []


def drained(
    *,
    config: Config | None = None,
    in_transaction: bool = False,
    warm: bool = True,
    cold: bool = True,
    rcsi: bool = False,
    mutant: str | None = None,
) -> Scenario:
    """Callers, the readers of both queues and one drain, in every order."""
    clients, bodies = callers(warm=warm, cold=cold)
    if in_transaction:
        clients = tuple(
            replace(client, batches=(in_a_tidy_transaction(bodies[number, 0]),))
            for number, client in enumerate(clients)
        )
    chosen = config or small_config()
    mode = "own transactions" if in_transaction else "autocommit"
    return Scenario(
        f"drain, key {chosen.conversation.key.value}, {len(clients)} callers in {mode}, "
        f"{'RCSI' if rcsi else 'RC'}",
        lambda: deployed(chosen, rcsi=rcsi, mutant=mutant, first=(MARKER,)),
        (*clients, Client("operator", (DRAIN,), DATABASE)),
        on_every_state=no_deadlock,
        at_the_end=all_of(
            accounted(bodies),
            end_of_stream_once,
            nothing_left_behind,
            no_orphan_dialog,
            in_or_refused,
            nothing_after_the_drain,
        ),
        in_one_go=frozenset({"TargetQueue", "InitiatorQueue"}),
        firings=0,
        notes=(TARGET_IN_ONE_GO, "the initiator's reader too: it only ends what the target ended"),
    )
