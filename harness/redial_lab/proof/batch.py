"""Scenarios of usp_SendBatch: dialogs die at any moment, and a batch is whole or not there.

What each check means is its docstring; a violation's name is what a search reports.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from redial.config import Config
from redial.config.keys import every_key
from redial_lab.explore.checks import Check, all_of, no_deadlock, nothing_left_behind
from redial_lab.explore.world import CANCELLED, Client, Scenario, World
from redial_lab.proof.audit_setups import (
    DATABASE,
    EVENT,
    TARGET_IN_ONE_GO,
    TIDY,
    deployed,
    end_of_stream_once,
    rows,
    small_config,
    undelivered,
)

ARGUMENTS = "N'//redial/audit/initiator', N'//redial/audit/target', N'//redial/audit/contract'"
BODIES = ("B1", "B2", "B3")


def batch_config(key: str) -> Config:
    """The small audit configuration with another key."""
    data = small_config().model_dump(by_alias=True, mode="json")
    data["conversation"]["key"] = key
    return Config.model_validate(data)


def batch(bodies: tuple[str, ...], keys: tuple[str | None, ...]) -> str:
    """T-SQL that sends the bodies (hexadecimal) in order; keys: of the messages, in turn."""
    values = ", ".join(
        f"({number}, N'{EVENT}', 0x{body}, {'NULL' if key is None else f'N{key!r}'})"
        for number, (body, key) in enumerate(zip(bodies, keys * len(bodies)))
    )
    return (
        "DECLARE @m audit.MessageBatch; INSERT INTO @m (Ordinal, MessageType, MessageBody, "
        f"MessageKey) VALUES {values}; EXECUTE audit.usp_SendBatch {ARGUMENTS}, @m;"
    )


CALLERS = {
    "own transaction": "{0}",
    "caller's transaction": "BEGIN TRANSACTION; {0} COMMIT TRANSACTION;",
    "caller with XACT_ABORT ON": "SET XACT_ABORT ON; BEGIN TRANSACTION; {0} COMMIT TRANSACTION;",
    "caller that goes on": "BEGIN TRANSACTION; BEGIN TRY {0} END TRY BEGIN CATCH SELECT 1; END "
    "CATCH; IF XACT_STATE() = 1 COMMIT TRANSACTION; "
    "IF XACT_STATE() = -1 BEGIN ROLLBACK TRANSACTION; "
    "THROW 50999, N'doomed', 1; END;",
}
"""How a batch is called, by name."""


def whole(count: int, bodies: tuple[str, ...], by_key: dict[str, str]) -> Check:
    """A check: the batches of the first ``count`` clients arrived whole, once and on one dialog per
    key, or not at all; an acknowledged one has arrived and a refused one has not.

    by_key: key of each body.
    """

    def check(world: World) -> list[str]:
        dialogs, problems = defaultdict(list), set()
        for dialog, sequence, body in rows(
            world, "Landing", "ConversationId", "MessageSequence", "Body"
        ):
            if body:
                dialogs[body.hex().upper()].append((dialog, sequence))
        waiting = undelivered(world)
        for client in range(count):
            mine = [f"{client}{body[1:]}" for body in bodies]
            found = [len(dialogs[body]) + waiting.count(body) for body in mine]
            if max(found) > 1:
                problems.add("message doubled")
            if 0 < sum(map(bool, found)) < len(found):
                problems.add("half a batch")
            results = world.progress.results[client]
            if results and not results[0] and not all(found):
                problems.add("acknowledged batch lost")
            if results and results[0] and CANCELLED not in results[0] and any(found):
                problems.add("refused batch arrived")
            for key in set(by_key.values()):
                ours = [
                    dialogs[body][0]
                    for body, plain in zip(mine, bodies)
                    if by_key[plain] == key and dialogs[body]
                ]
                if len({dialog for dialog, _ in ours}) > 1:
                    problems.add("batch split over two dialogs")
                if [s for _, s in ours] != sorted(s for _, s in ours):
                    problems.add("order of the batch lost")
        return sorted(problems)

    return check


def end_dialog(key: str) -> str:
    """A DBA removes the dialog of a key, looking it up without waiting for anybody."""
    where = f"WHERE ConversationKey = N'{key}'" if key else ""
    return (
        "DECLARE @h uniqueidentifier = (SELECT TOP (1) Handle FROM audit.SessionConversations "
        f"WITH (NOLOCK) {where}); IF @h IS NOT NULL END CONVERSATION @h WITH CLEANUP;"
    )


def dead_in_mid_batch(
    key: str = "application",
    caller: str = "own transaction",
    *,
    kills: int = 0,
    cancels: int = 0,
    firings: int = 0,
    mutant: str | None = None,
    switches: dict[str, Any] | None = None,  # each has a type of its own
) -> Scenario:
    """A batch of three over its dialogs, and a DBA who removes one of them at any moment.

    firings: conversation timers that fire, so that dialogs are recycled under the batch too; the
    reader of the initiator is then searched step by step.
    """
    named = every_key()[key].named
    keys: tuple[str | None, ...] = ("a", "b", "a") if named else (None,)
    mine = tuple(f"0{body[1:]}" for body in BODIES)
    warm = tuple(batch((f"F{n}",), (k,)) for n, k in enumerate(dict.fromkeys(keys)))
    text = CALLERS[caller].format(batch(mine, keys))
    clients = (
        Client("sender", (text,), DATABASE, warm, "" if "own" in caller else TIDY),
        Client("DBA", (end_dialog("b" if named else ""),), DATABASE),
    )
    by_key = {body: k or "" for body, k in zip(BODIES, keys * 3)}
    return Scenario(
        f"batch, key {key}, {caller}, a dialog removed, firings {firings}, kills {kills}, "
        f"cancels {cancels}",
        lambda: deployed(batch_config(key), mutant=mutant, switches=switches),
        clients,
        on_every_state=no_deadlock,
        at_the_end=all_of(whole(1, BODIES, by_key), end_of_stream_once, nothing_left_behind),
        in_one_go=frozenset({"TargetQueue"} if firings else {"TargetQueue", "InitiatorQueue"}),
        firings=firings,
        kills=kills,
        cancels=cancels,
        notes=(TARGET_IN_ONE_GO,),
    )


def crossing(mutant: str | None = None) -> Scenario:
    """Two batches over the same two keys, named in opposite orders: neither is a victim."""
    clients = tuple(
        Client(
            f"sender {n}",
            (batch(tuple(f"{n}{body[1:]}" for body in BODIES), keys),),
            DATABASE,
            warm,
        )
        for n, (keys, warm) in enumerate(
            (
                (("b", "a", "b"), (batch(("F0",), ("a",)), batch(("F1",), ("b",)))),
                (("a", "b", "a"), ()),
            )
        )
    )
    by_key = {body: body for body in BODIES}
    return Scenario(
        "two batches whose keys cross",
        lambda: deployed(batch_config("application"), mutant=mutant),
        clients,
        on_every_state=no_deadlock,
        at_the_end=all_of(whole(2, BODIES, by_key), nothing_left_behind),
        in_one_go=frozenset({"TargetQueue", "InitiatorQueue"}),
        timer_kinds=frozenset(),
        notes=(TARGET_IN_ONE_GO,),
    )
