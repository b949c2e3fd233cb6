"""Scenarios of the audit configuration: the very text that is deployed, or the article's.

What each check means is its docstring; a violation's name is what a search reports.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from redial.config import Config, load
from redial.paths import CONFIGS
from redial.render import render
from redial.tsql import ScriptBatch, split_batches
from redial_broker.engine.switches import Chosen, of_an_instance
from redial_broker.exec.ddl.probing import unprobed
from redial_broker.instance.instance import Instance
from redial_lab.explore.checks import all_of, no_deadlock, nothing_left_behind
from redial_lab.explore.prepared import made
from redial_lab.explore.world import CANCELLED, Client, Scenario, World

if TYPE_CHECKING:
    from redial_lab.explore.queries import Row

DATABASE = "Redial"
EVENT = "//redial/audit/event"

Scripts = tuple[tuple[str, tuple[ScriptBatch, ...]], ...]

_SCRIPTS: dict[tuple[str, str | None], Scripts] = {}
KEPT = 64
"""Configurations and mutants whose scripts are rendered once a process."""
TEXTS = 2_000
"""Scripts that are cut at GO once a process."""


def small_config(strategy: str = "two_phase", **timer: int) -> Config:
    """The audit configuration with one reader a side and readers that leave when a queue is empty,
    without its envelope: what a check finds in a queue is what was sent; and with every module.

    strategy: timer_strategy. timer: fields of its [timer] section to set.
    """
    data = load(CONFIGS / "audit.toml").model_dump(by_alias=True, mode="json")
    data["conversation"]["timer_strategy"] = strategy
    data["envelope"]["who"] = False
    data["modules"]["pieces"] = True
    data["initiator"]["readers"] = 1
    data["target"] |= {"readers": 1, "receive_wait_ms": 0}
    data["timer"] |= {"spread_seconds": 0, **timer}
    return Config.model_validate(data)


def send(body: str) -> str:
    """T-SQL that sends one event; body: hexadecimal digits."""
    return (
        f"EXECUTE audit.usp_Send N'//redial/audit/initiator', N'//redial/audit/target', "
        f"N'//redial/audit/contract', N'{EVENT}', 0x{body};"
    )


def deployed(
    config: Config,
    *,
    rcsi: bool = False,
    first: tuple[str, ...] = (),
    mutant: str | None = None,
    switches: dict[str, Any] | None = None,  # each has a type of its own
) -> Instance:
    """An instance on a virtual clock with the configuration installed in database Redial.

    A search may be lent one that served another search (``redial_lab.explore.prepared``).
    first: batches run to quiescence before anything is searched (a warmed-up dialog, say).
    mutant: a known-bad variant of the scripts to install instead.
    Raises AssertionError naming file and message when a script fails.
    """
    chosen = tuple(sorted(of_an_instance(switches or {}).items()))
    scripts = _scripts(config, mutant)
    key = (scripts, rcsi, first, chosen)
    return made(key, lambda: _installed(scripts, rcsi, first, switches))


def _scripts(config: Config, mutant: str | None) -> Scripts:
    """(name, batches) of each script of a configuration, in order."""
    key = config.model_dump_json(by_alias=True), mutant
    if key not in _SCRIPTS:
        if len(_SCRIPTS) >= KEPT:
            _SCRIPTS.clear()
        _SCRIPTS[key] = tuple(
            (name, _batches(text))
            for name, text in render(config, mutant=mutant).items()
            if re.match(r"\d\d_", name)
        )
    return _SCRIPTS[key]


@lru_cache(maxsize=TEXTS)
def _batches(text: str) -> tuple[ScriptBatch, ...]:
    """The batches of a script, cut once: most scripts of most configurations are the same."""
    return tuple(split_batches(text))


def _installed(
    scripts: Scripts,
    rcsi: bool,
    first: tuple[str, ...],
    switches: dict[str, Any] | None,  # each has a type of its own
) -> Instance:
    """What ``deployed`` says."""
    instance = Instance(seed=1, switches=switches)
    # Who wants to know the switches that are read wants those that CREATE reads as well.
    heard = isinstance(instance.engine.switches, Chosen)
    with nullcontext() if heard else unprobed(instance.server):
        _install(instance, scripts, rcsi)
    for text in first:
        session = instance.connect(DATABASE)
        session.execute(text).ok()
        session.close()
    instance.run()
    return instance


def _install(instance: Instance, scripts: Scripts, rcsi: bool) -> None:
    """The database and what the scripts make."""
    session = instance.connect()
    session.execute(f"CREATE DATABASE {DATABASE};")
    session.close()
    session = instance.connect(DATABASE)
    if rcsi:
        session.execute(f"ALTER DATABASE {DATABASE} SET READ_COMMITTED_SNAPSHOT ON;")
    for name, batches in scripts:
        for sql, line, count in batches:
            for _ in range(count):
                error = session.execute(sql).error()
                if error is not None:
                    raise AssertionError(
                        f"{name}, line {line + error.line - 1}: Msg {error.number}: {error.text}"
                    )
    session.close()


# ---------------------------------------------------------------------- what must hold
def rows(world: World, table: str, *columns: str, schema: str = "audit") -> list[Row]:
    """Rows of a table of the configuration as they are now, without locks."""
    found = world.instance.server.database(DATABASE).resolve(schema, table)
    ordinals = [found.ordinals[column.lower()] for column in columns]
    return [tuple(row[i] for i in ordinals) for row in found.rows.entries.values()]


def told(world: World) -> set[str]:
    """Handles of the dialogs whose EndOfStream was sent."""
    return {
        handle
        for handle, at in rows(world, "ConversationLog", "Handle", "EndOfStreamUtc")
        if at is not None
    }


def undelivered(world: World) -> list[str]:
    """Bodies (hexadecimal) of user messages that lie in a queue or in the transmission queue."""
    found: list[bytes | None] = []
    for endpoint in world.instance.server.database(DATABASE).broker.endpoints.values():
        found += [
            message[3]
            for status, message, _ in endpoint.inbox.stored()
            if status == 1 and message[2].name == EVENT
        ]
        found += [row[2] for row in endpoint.pending.values() if row[1].name == EVENT]
    return [bare(body).hex().upper() for body in found if body]


def bare(body: bytes) -> bytes:
    """A body without the header our procedures put before it (docs/facts.md, F-146)."""
    return body[int.from_bytes(body[4:6], "big") :] if body[:4] == b"RDL1" else body


def accounted(bodies: dict[tuple[int, int], str]) -> Callable[[World], list[str]]:
    """Every acknowledged message is landed, pending, queued or dead-lettered; nothing is doubled.

    bodies: (client, batch) -> the body (hexadecimal) that batch sends.
    """

    def check(world: World) -> list[str]:
        landed = [row[0].hex().upper() for row in rows(world, "Landing", "Body") if row[0]]
        dead = [row[0].hex().upper() for row in rows(world, "DeadLetter", "Body") if row[0]]
        found = landed + dead + undelivered(world)
        problems = []
        for (client, batch), body in bodies.items():
            results = world.progress.results[client]
            acknowledged = batch < len(results) and not results[batch]
            if acknowledged and body not in found:
                problems.append("acknowledged message lost")
            if found.count(body) > 1:
                problems.append("message doubled")
            refused = batch < len(results) and results[batch] and CANCELLED not in results[batch]
            if refused and body in found:
                problems.append("refused message arrived")
        return sorted(set(problems))

    return check


def end_of_stream_once(world: World) -> list[str]:
    """No dialog landed EndOfStream twice, nothing landed after it."""
    problems = set()
    last: dict[str, int] = {}
    ended: dict[str, int] = {}
    for dialog, sequence, kind in rows(
        world, "Landing", "ConversationId", "MessageSequence", "MessageType"
    ):
        last[dialog] = max(last.get(dialog, -1), sequence)
        if kind == "EndOfStream":
            if dialog in ended:
                problems.add("EndOfStream twice")
            ended[dialog] = sequence
    problems |= {"message after EndOfStream" for d, at in ended.items() if last[d] > at}
    return sorted(problems)


def no_orphan_dialog(world: World) -> list[str]:
    """Every dialog the initiator has not ended can be found again by a sender, or is on its way
    out: its EndOfStream was sent, and the target's answer will end it.
    """
    known = {row[0] for row in rows(world, "SessionConversations", "Handle")} | told(world)
    broker = world.instance.server.database(DATABASE).broker
    orphans = [
        e
        for e in broker.endpoints.values()
        if e.is_initiator and not e.own and e.handle not in known
    ]
    return ["orphan dialog"] if orphans else []


# ---------------------------------------------------------------------- scenarios
TIDY = "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;"
TARGET_IN_ONE_GO = (
    "the reader of the target runs in one step: it shares no lock with the senders "
    "but the queue's own"
)


def in_a_transaction(body: str) -> str:
    """A caller's own transaction around one send."""
    return f"BEGIN TRANSACTION; {send(body)} COMMIT TRANSACTION;"


def callers(
    *, in_transaction: bool = False, warm: bool = True, cold: bool = True
) -> tuple[tuple[Client, ...], dict[tuple[int, int], str]]:
    """The senders of a scenario and what they send, for ``accounted``.

    warm: one whose session has a dialog already. cold: one whose first send this is.
    """
    text = in_a_transaction if in_transaction else send
    tidy = TIDY if in_transaction else ""
    clients, bodies = cast("list[Client]", []), cast("dict[tuple[int, int], str]", {})
    if warm:
        bodies[len(clients), 0] = "A1"
        clients.append(Client("sender A", (text("A1"),), DATABASE, (send("A0"),), tidy))
    if cold:
        bodies[len(clients), 0] = "B0"
        clients.append(Client("sender B", (text("B0"),), DATABASE, (), tidy))
    return tuple(clients), bodies


def two_phase(
    *,
    in_transaction: bool = False,
    warm: bool = True,
    cold: bool = True,
    rcsi: bool = False,
    firings: int = 1,
    kills: int = 0,
    cancels: int = 0,
) -> Scenario:
    """The shipped procedures: callers, one activation reader, one recycle, and faults."""
    clients, bodies = callers(in_transaction=in_transaction, warm=warm, cold=cold)
    mode = "own transactions" if in_transaction else "autocommit"
    return Scenario(
        f"two_phase, {len(clients)} callers in {mode}, {'RCSI' if rcsi else 'RC'}, "
        f"firings {firings}, kills {kills}, cancels {cancels}",
        lambda: deployed(small_config(), rcsi=rcsi),
        clients,
        on_every_state=no_deadlock,
        at_the_end=all_of(
            accounted(bodies), end_of_stream_once, nothing_left_behind, no_orphan_dialog
        ),
        in_one_go=frozenset({"TargetQueue"}),
        firings=firings,
        kills=kills,
        cancels=cancels,
        notes=(TARGET_IN_ONE_GO,),
    )


def article(*, in_transaction: bool) -> Scenario:
    """Seed 000's procedures under the same callers and reader."""
    clients, bodies = callers(in_transaction=in_transaction)
    mode = "own transactions" if in_transaction else "autocommit"
    name = f"article, 2 callers in {mode}, RC, firings 1"
    if in_transaction:
        return Scenario(
            name,
            lambda: deployed(small_config("article")),
            clients,
            on_every_state=no_deadlock,
            in_one_go=frozenset({"TargetQueue"}),
            notes=(TARGET_IN_ONE_GO,),
        )
    return Scenario(
        name, lambda: deployed(small_config("article")), clients, at_the_end=accounted(bodies)
    )
