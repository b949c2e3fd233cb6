"""What is claimed of the shipped procedures, each claim a check of its own.

S: safety, looked at in every state or in every state at rest. L: liveness, looked at where
everything has come to rest; L3 is the search's own (``LIVELOCK``: a loop of steps without time).
A claim holds in the bounds of the search that looked at it and no further. ``Subject`` says what
a claim needs to know of the setup; a violation's name begins with the claim's.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from redial_broker.engine.switches import value
from redial_broker.ssb.monitor import NOTIFIED
from redial_lab.explore.checks import held_up
from redial_lab.explore.message_accounts import Ledger, balanced
from redial_lab.explore.queries import ask
from redial_lab.explore.world import World
from redial_lab.proof.audit_setups import DATABASE, EVENT, bare, no_orphan_dialog, rows, told
from redial_lab.proof.places import PLACES, numbers_elsewhere

if TYPE_CHECKING:
    from redial_broker.instance.session import Session
    from redial_broker.ssb.conversation import Endpoint

    Batch = tuple[tuple[int, int], Sequence[str]]
    """Its client and number, and the bodies it sends."""

SENDING = frozenset({"usp_Send", "usp_SendBatch", "usp_SendMessages", "Outbox_Insert"})
"""Procedures of ours that callers run."""

QUEUES = ("InitiatorQueue", "TargetQueue")
OPEN = frozenset({"SO", "CO"})
SWITCHED_OFF = frozenset({"queue_off"})
"""Faults after which nothing can be expected to come to its end."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What the claims need to know."""

    ledger: Ledger
    """What is sent."""
    senders: frozenset[str]
    """Names of the clients that send."""
    alone: bool = True
    """Each sender has a dialog of its own and one key per transaction (origins: locks 7)."""
    keys: int = 1
    """How many dialogs may be open for sending at once."""
    numbered: bool = False
    """Order = key."""
    resends: bool = False
    """A message may be sent twice."""
    retried: bool = False
    """By its sender, who gave it an id."""
    one_dialog: bool = True
    """A transaction's messages share a dialog."""
    rows: bool = True
    """Dialogs are found through SessionConversations."""
    pool: bool = False
    """Unused ones have no BegunUtc."""
    ends: bool = True
    """A dialog that was recycled can come to its end."""
    oldest: int = 0
    """Seconds after which a dialog is recycled; 0: by no timer."""


Claim = Callable[[Subject, World], list[str]]


def s1(subject: Subject, world: World) -> list[str]:
    """S1 (origins: locks 7): no deadlock cycle contains a procedure of ours but those callers run, and
    with a dialog to each sender and one key per transaction none contains these either.

    So no sender is ever a victim of ours. Senders who share keys and use several in one transaction
    can still deadlock with each other, as with any table of theirs.
    """
    found = []
    for deadlock in world.incidents.deadlocks:
        mine = {_outermost(waiter.procedures) for waiter in deadlock.waiters} - {""}
        wrong = mine - SENDING or (mine if subject.alone else set())
        if wrong:
            victim = "a sender" if deadlock.victim in subject.senders else "no sender"
            found.append(f"S1 deadlock of {', '.join(sorted(mine))}, victim {victim}")
    return found


def s2(subject: Subject, world: World) -> list[str]:
    """S2: no user message is committed on a dialog after its EndOfStream, nor a second one. One
    without a body is a stranger's (``explore.operators.stranger_sends``), and not counted."""
    last: dict[str, int] = {}
    ended: dict[str, int] = {}
    problems = set()
    for dialog, sequence, kind, body in arrived(world):
        if kind == "EndOfStream":
            if ended.setdefault(dialog, sequence) != sequence:
                problems.add("S2 EndOfStream twice")
        elif kind == EVENT and body:
            last[dialog] = max(last.get(dialog, -1), sequence)
    if any(last.get(dialog, -1) > at for dialog, at in ended.items()):
        problems.add("S2 message after EndOfStream")
    return sorted(problems)


def s3(subject: Subject, world: World) -> list[str]:
    """S3: total queue: lost = 0, unexpected = 0, duplicated only by a resend whose acknowledgement
    nobody saw, or by a retry of which one has landed at most.
    """

    def may_double(world: World) -> bool:
        landed = Counter(PLACES.landed(world))
        return subject.resends or (subject.retried and max(landed.values(), default=0) <= 1)

    check = balanced(subject.ledger, may_double=may_double)
    return [f"S3 {name}" for name in check(world)]


def s4(subject: Subject, world: World) -> list[str]:
    """S4 (origins: choices): messages of one sender are in the order it sent them on each dialog;
    with order = key they are numbered 1, 2, 3 ... within the key, across dialogs too, and none of
    these numbers is nowhere: not landed, not waiting, not set aside and of no dropped repeat that
    can be seen.
    """
    problems = set()
    place = {
        body: (dialog, sequence) for dialog, sequence, kind, body in arrived(world) if kind == EVENT
    }
    by_client: dict[int, list[str]] = defaultdict(list)
    for (client, _), bodies in cast("list[Batch]", sorted(subject.ledger.batches.items())):
        by_client[client] += [body for body in bodies if body in place]
    for bodies in by_client.values():
        by_dialog: dict[str, list[int]] = defaultdict(list)
        for body in bodies:
            by_dialog[place[body][0]].append(place[body][1])
        if any(numbers != sorted(numbers) for numbers in by_dialog.values()):
            problems.add("S4 out of order on a dialog")
    if subject.numbered:
        problems |= _numbers(subject, world, by_client)
    return sorted(problems)


def _numbers(subject: Subject, world: World, by_client: dict[int, list[str]]) -> set[str]:
    """Of order = key."""
    problems = set()
    keys: dict[str, list[int]] = defaultdict(list)
    number_of = {}
    for key, number, body in rows(world, "Landing", "ConversationKey", "KeySequence", "Body"):
        if number is not None and body:
            keys[key].append(number)
            number_of[body.hex().upper()] = number
    taken = {(key, number) for key, numbers in keys.items() for number in numbers}
    taken |= numbers_elsewhere(world)
    last: Counter[str] = Counter()
    for key, number in taken:
        last[key] = max(last[key], number)
    repeated = not subject.resends and any(
        len(set(numbers)) < len(numbers) for numbers in keys.values()
    )
    if repeated or len(taken) < sum(last.values()):
        problems.add("S4 gap or repeat in a key's numbers")
    for bodies in by_client.values():
        numbers = [number_of[body] for body in bodies if body in number_of]
        if numbers != sorted(numbers):
            problems.add("S4 a key's numbers are not in the order of its sends")
    return problems


def s5(subject: Subject, world: World) -> list[str]:
    """S5: dialogs are bounded: of the initiator's committed ones no more are open for sending than
    there are keys (sessions, slots); the others have had their EndOfStream or know that they ended.
    And bounded in time: no conversation timer is further away than the configured age, unless somebody
    has set the clock back.
    """
    now, timers = world.instance.clock.seconds, world.instance.engine.timers.entries
    if (
        subject.oldest
        and "clock_back" not in world.progress.struck
        and any(due - now > subject.oldest for key, due in timers.items() if key[0] == "ssb.timer")
    ):
        return ["S5 a dialog lives longer than configured"]
    recycled = told(world)
    open_ = [
        e
        for e in endpoints(world)
        if e.is_initiator and e.state() in OPEN and e.creator is None and e.handle not in recycled
    ]
    return ["S5 more dialogs than keys"] if len(open_) > subject.keys else []


def s6(subject: Subject, world: World) -> list[str]:
    """S6: at rest one row per key, and no row whose handle is dead.

    Where a dialog can end by itself (``DIED``), a reader that dies between its two transactions
    leaves one until the key's next send, and so does a sender that held the row when its dialog
    died and then gave up, or an operator who ends the initiator's side, of which no message tells.
    Then the claim is that there are no more of them than such faults, and that usp_EndLeaked
    deletes them (asked, and taken back).
    """
    if not subject.rows or world.progress.struck & SWITCHED_OFF:
        return []
    found = rows(world, "SessionConversations", "ConfigId", "ConversationKey", "Handle", "BegunUtc")
    alive = {e.handle for e in endpoints(world) if e.is_initiator and e.state() in OPEN}
    problems = set()
    if len({row[:2] for row in found}) < len(found):
        problems.add("S6 two rows of a key")
    dead = [
        row for row in found if row[2] not in alive and (row[3] is not None or not subject.pool)
    ]
    if dead and not (len(dead) <= _excused(subject, world) and ask(world, CLEANED) == []):
        problems.add("S6 row of a dead dialog")
    return sorted(problems)


def _excused(subject: Subject, world: World) -> int:
    """How many rows of dead dialogs faults account for: one each, if a dialog ended by itself."""
    progress = world.progress
    if subject.ends and not _died(world):
        return 0
    return sum(
        fault.times - left
        for fault, left in zip(world.scenario.all_faults, progress.left, strict=True)
        if fault.kind in GAVE_UP
    )


CLEANED = (
    "EXECUTE audit.usp_EndLeaked @reason = N'test', @WhatIf = 0; SELECT sc.Handle "
    "FROM audit.SessionConversations AS sc WHERE sc.Handle IN (SELECT cl.Handle "
    "FROM audit.ConversationLog AS cl) AND NOT EXISTS (SELECT 1 "
    "FROM sys.conversation_endpoints AS ce WHERE ce.conversation_handle = sc.Handle "
    "AND ce.state IN ('SO', 'CO'));"
)
"""Rows of dead dialogs that are still there after the operator's procedure."""


BY_HAND = frozenset({"initiator_ends_now", "initiator_errors_now", "initiator_cleaned"})
"""Faults that end a dialog on our own side, where nobody is told."""
GAVE_UP = BY_HAND | {"kill", "cancel", "rollback", "lock_timeout", "time_limit", "reader_restart"}
GAVE_UP |= {"reconnect", "answer_lost", "victim", "disk_full", "restart"}
"""Faults after which somebody has not done what was his to do."""
DIED = BY_HAND | {
    "target_ends",
    "error_message",
    "target_ends_now",
    "target_errors_now",
    "target_cleaned",
}
"""Faults that end a dialog nobody has recycled; a lifetime that ends does so too."""


def _died(world: World) -> bool:
    """Whether a dialog may have ended that nobody has recycled."""
    return bool(world.progress.struck & DIED) or "ssb.lifetime" in world.progress.fired


def s7(subject: Subject, world: World) -> list[str]:
    """S7: what a caller is told is total: at rest every batch has ended, and one that ended without
    an error has sent its message (committed), one that raised has not. Never silent.
    """
    problems = set()
    for number, client in enumerate(world.scenario.clients):
        if client.name not in subject.senders or number in world.progress.killed:
            continue
        if len(world.progress.results[number]) < len(client.batches):
            problems.add("S7 a caller never got an answer")
    account = subject.ledger(world)
    if set(account.lost) & set(account.acknowledged):
        problems.add("S7 silent: no error and no message")
    if set(account.refused) & set(account.unexpected):
        problems.add("S7 an error, and yet the message")
    return sorted(problems)


def s8(subject: Subject, world: World) -> list[str]:
    """S8: the messages of one transaction go out on one dialog, unless a dialog died: only then
    are they received in the order they were sent.
    """
    if not subject.one_dialog or _died(world):
        return []
    dialog = {body: dialog for dialog, _, kind, body in arrived(world) if kind == EVENT}
    over = any(
        len({dialog[body] for body in bodies if body in dialog}) > 1
        for bodies in subject.ledger.batches.values()
    )
    return ["S8 one transaction over two dialogs"] if over else []


def l1(subject: Subject, world: World) -> list[str]:
    """L1: at rest every dialog that was recycled is closed on both sides, none that has ended is
    left half closed, none is where nobody can find it, and no message lies unread at the initiator.
    A dialog of which a side's LIFETIME has yet to end, though that of another has, is not at its
    end. One whose target was removed WITH CLEANUP is never answered, and nobody is told: then the
    claim is that usp_EndLeaked gives it up and leaves no message behind (asked, and taken back).

    Depends on F-255, and says so by that name: a reader killed before its first RECEIVE may leave
    its queue waiting for one (``killed_reader=stuck``), and then what lies in it waits too.
    """
    if not subject.ends or world.progress.struck & SWITCHED_OFF:
        return []
    recycled, found = told(world), set()
    for endpoint in endpoints(world):
        if _outlives(world, endpoint):
            pass
        elif endpoint.is_initiator and endpoint.handle in recycled:
            peer = endpoint.peer
            closed = endpoint.state() == "CD" and (peer is None or peer.state() == "CD")
            if not closed and not _unheard(world):
                found.add("L1 a recycled dialog is not closed")
        elif endpoint.state() in HALF:
            found.add("L1 a dialog is left half closed")
        if endpoint.is_initiator and any(status == 1 for status, _, _ in endpoint.inbox.stored()):
            found.add("L1 a message nobody is started for")
    if subject.rows and no_orphan_dialog(world):
        found.add("L1 a dialog nobody can find again")
    return [ON_F255] if found and _stuck(world) else sorted(found)


GIVEN_UP = (
    "UPDATE audit.ConversationLog SET EndOfStreamUtc = '2000-01-01' "
    "WHERE EndOfStreamUtc IS NOT NULL; EXECUTE audit.usp_EndLeaked @reason = N'test', @WhatIf = 0; "
    "SELECT sm.ConversationId FROM audit.SentMessage AS sm INNER JOIN "
    "audit.ConversationLog AS cl ON cl.ConversationId = sm.ConversationId "
    "WHERE cl.EndOfStreamUtc = '2000-01-01' UNION ALL SELECT ce.conversation_id "
    "FROM sys.conversation_endpoints AS ce INNER JOIN audit.ConversationLog AS cl "
    "ON cl.Handle = ce.conversation_handle WHERE ce.state = 'CO' AND cl.EndOfStreamUtc "
    "= '2000-01-01';"
)
"""Recycled dialogs that are still open after the operator's procedure, and copies they left."""


def _unheard(world: World) -> bool:
    """Whether a dialog's target was removed in silence, and the operator's procedure sees to it."""
    return "target_cleaned" in world.progress.struck and ask(world, GIVEN_UP) == []


def _outlives(world: World, endpoint: Endpoint) -> bool:
    """Whether the LIFETIME of a side of this dialog will end by and by, where one has ended before
    its time came. A target that has failed waits for the initiator's (F-462).
    """
    entries = {
        ("ssb.lifetime", (side.broker.database.id, side.handle))
        for side in (endpoint, endpoint.peer)
        if side is not None
    }
    return "ssb.lifetime" in world.progress.fired and not entries.isdisjoint(
        world.instance.engine.timers.entries
    )


HALF = frozenset({"DI", "DO", "ER"})
ON_F255 = "L1 depends on F-255: nobody is started after a reader that was killed"


def _stuck(world: World) -> bool:
    """A reader was killed, and one of our queues waits for ever for somebody to receive."""
    if (
        not world.progress.struck & {"kill", "reader_restart"}
        or value(world.instance.engine, "killed_reader") != "stuck"
    ):
        return False
    database = world.instance.server.database(DATABASE)
    queues = [database.resolve("audit", name) for name in QUEUES]
    return any(
        queue.monitor.state == NOTIFIED and not queue.monitor.running and queue.has_receivable()
        for queue in queues
    )


def l2(subject: Subject, world: World) -> list[str]:
    """L2: five rollbacks never switch a queue off; a poison row is set aside before the fifth."""
    if not subject.ends or any("queue_off" in kind for kind in world.progress.struck):
        return []
    database = world.instance.server.database(DATABASE)
    off = [name for name in QUEUES if not database.resolve("audit", name).enabled]
    return [f"L2 {name} switched off" for name in off]


def l4(subject: Subject, world: World) -> list[str]:
    """L4: at rest every dialog that a key still sends on has its conversation timer armed, where timers
    recycle: so it will be recycled, whoever died.

    Depends on F-255 as L1 does: what a reader left who was killed is then not received.
    """
    if not (subject.oldest and subject.rows) or world.progress.struck & SWITCHED_OFF:
        return []
    recycled, timers = told(world), world.instance.engine.timers.entries
    kept = {handle for (handle,) in rows(world, "SessionConversations", "Handle")} - recycled
    left = [
        e
        for e in endpoints(world)
        if e.is_initiator
        and e.state() in OPEN
        and e.handle in kept
        and ("ssb.timer", (e.broker.database.id, e.handle)) not in timers
    ]
    if left and _stuck(world):
        return [ON_F255]
    return ["L4 a dialog that no timer will recycle"] if left else []


LONGEST_WAIT = 1.0
"""Seconds that a holder of locks may let pass while others wait for them."""


def l5(subject: Subject, world: World) -> list[str]:
    """L5: nobody waits for a lock beyond a bound: who holds it lets no more than ``LONGEST_WAIT`` pass
    (WAITFOR) meanwhile. An application that keeps a transaction open and runs nothing is not counted.
    """
    return sorted(
        f"L5 {_called(waiter)} waits for {_called(holder)}, which waits for time to pass"
        for waiter, holder in held_up(world, LONGEST_WAIT)
    )


def _called(session: Session) -> str:
    """The procedure of ours that a session is in, or what it is."""
    procedures = tuple(frame.program.full_name for frame in reversed(session.frames))
    return _outermost(procedures) or ("a task" if session.background else "an application")


ON_EVERY_STATE: dict[str, Claim] = {"S1": s1, "S5": s5, "L2": l2, "L5": l5}
AT_REST: dict[str, Claim] = {
    "S2": s2,
    "S3": s3,
    "S4": s4,
    "S6": s6,
    "S7": s7,
    "S8": s8,
    "L1": l1,
    "L4": l4,
}

DESCRIBED = {**ON_EVERY_STATE, **AT_REST}


def watched(world: World) -> tuple[object, ...]:
    """What the claims on every state look at: dialogs open for sending (S5), queues that are on (L2) and
    who is held up (L5). The deadlocks of S1 stay with the state, and each timer's time (S5) is one
    step's doing.
    """
    database = world.instance.server.database(DATABASE)
    return (
        frozenset(told(world)),
        frozenset(
            e.handle
            for e in database.broker.endpoints.values()
            if e.is_initiator and e.state() in OPEN and e.creator is None
        ),
        database.resolve("audit", "InitiatorQueue").enabled,
        database.resolve("audit", "TargetQueue").enabled,
        tuple((one.id, other.id) for one, other in held_up(world, LONGEST_WAIT)),
    )


def claims(subject: Subject, chosen: dict[str, Claim]) -> Callable[[World], list[str]]:
    """Those claims as one check."""
    return lambda world: [name for claim in chosen.values() for name in claim(subject, world)]


# ---------------------------------------------------------------------- looking
def _outermost(procedures: tuple[str, ...]) -> str:
    """The procedure of ours an application or a queue called; '' for none."""
    ours = [name.split(".")[-1] for name in procedures if name.split(".")[-2:-1] == ["audit"]]
    return ours[-1] if ours else ""


def endpoints(world: World) -> list[Endpoint]:
    """Both sides of every dialog."""
    return list(world.instance.server.database(DATABASE).broker.endpoints.values())


def arrived(world: World) -> list[tuple[str, int, str, str]]:
    """(dialog, sequence, type, body in hexadecimal) of what landed or is on its way there."""
    found = [
        (dialog, sequence, kind, body.hex().upper() if body else "")
        for dialog, sequence, kind, body in rows(
            world, "Landing", "ConversationId", "MessageSequence", "MessageType", "Body"
        )
    ]
    for endpoint in endpoints(world):
        dialog = endpoint.conversation_id
        if endpoint.is_initiator:
            found += [
                (dialog, sequence, row[1].name, bare(row[2] or b"").hex().upper())
                for sequence, row in endpoint.pending.items()
            ]
        else:
            found += [
                (dialog, message[1], message[2].name, bare(message[3] or b"").hex().upper())
                for status, message, _ in endpoint.inbox.stored()
                if status == 1
            ]
    return found
