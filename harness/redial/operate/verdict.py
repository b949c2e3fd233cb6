"""The verdict: every message accounted for, every dialog ended, or which was not, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from redial.operate.evidence import Evidence, Identity, Row

SHOWN = 3
"""Examples named per problem."""


@dataclass
class Clients:
    """What the callers know."""

    sent: set[Identity] = field(default_factory=set)
    unknown: set[Identity] = field(default_factory=set)
    """Sent, but the connection broke before the answer came."""
    errors: list[tuple[int, str]] = field(default_factory=list)
    """(number, text) of every error a caller saw, retried or not."""


@dataclass
class Verdict:
    """Counts in the order they are shown, and why the run is not clean (empty: it is)."""

    sent: int = 0
    landed: int = 0
    pending: int = 0
    dead_lettered: int = 0
    lost: int = 0
    duplicated: int = 0
    out_of_order: int = 0
    dialogs_begun: int = 0
    recycled: int = 0
    closed: int = 0
    leaked: int = 0
    deadlocks: int = 0
    sender_errors: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether everything sent has landed once, in order, and nothing is left over."""
        return not self.problems


def judge(clients: Clients, evidence: Evidence, quiet: bool = True) -> Verdict:
    """The verdict on one run.

    Two independent counts must agree: the callers' (each message by its own name) and the broker's
    (per conversation, sequence numbers without a gap up to EndOfStream; numbers start at 0).
    ``quiet``: whether the run came to rest before it was looked at.
    """
    verdict = Verdict(sent=len(clients.sent))
    if not quiet:
        verdict.problems.append("not at rest: messages or dialogs still moved when time ran out")
    _messages(verdict, clients, evidence)
    _order(verdict, evidence)
    _dialogs(verdict, evidence)
    _errors(verdict, clients, evidence)
    return verdict


def _messages(verdict: Verdict, clients: Clients, evidence: Evidence) -> None:
    """sent = landed + pending + dead-lettered; anything else is a loss."""
    user = [row for row in evidence.landed if row.type in evidence.user_types]
    dead = [row for row in evidence.dead if row.type in evidence.user_types]
    verdict.landed = len(user)
    verdict.pending = len(evidence.pending)
    verdict.dead_lettered = len(dead)
    landed = Counter(row.identity for row in user)
    accounted = set(landed) | {r.identity for r in dead} | {r.identity for r in evidence.pending}
    lost = sorted(clients.sent - accounted)
    gaps = _gaps(evidence)
    # A message both counts miss is one message, and nothing says which gap is whose: the larger
    # number is what is certainly gone.
    verdict.lost = max(len(lost), sum(len(numbers) for numbers in gaps.values()))
    if lost:
        verdict.problems.append(_lost_text(lost, evidence))
    for conversation, numbers in list(gaps.items())[:SHOWN]:
        verdict.problems.append(
            f"missing: conversation {conversation} has no message {_some(numbers)}"
        )
    repeated = [row for row in user if landed[row.identity] > 1]
    places = Counter((row.conversation, row.sequence) for row in user)
    verdict.duplicated = max(
        len(repeated) - len({row.identity for row in repeated}),
        sum(count - 1 for count in places.values()),
    )
    if verdict.duplicated:
        names = sorted({row.identity for row in repeated if row.identity})
        verdict.problems.append(f"duplicated: landed more than once: {_names(names)}")
    stray = sorted(set(filter(None, landed)) - clients.sent - clients.unknown)
    if stray:
        verdict.problems.append(f"half sent: landed, the caller was told no: {_names(stray)}")
    foreign = sum(1 for row in user if row.identity is None)
    if foreign:
        verdict.problems.append(f"foreign: {foreign} landed bodies are not what any caller sent")
    if verdict.pending:
        verdict.problems.append(f"pending: {verdict.pending} messages were sent and not received")
    if dead:
        verdict.problems.append(f"dead-lettered: {verdict.dead_lettered}, {dead[0].reason}")


def _gaps(evidence: Evidence) -> dict[str, list[int]]:
    """Per conversation, the numbers before its last known one that are nowhere."""
    present: dict[str, set[int]] = {}
    expected: dict[str, int] = {}
    for row in (*evidence.landed, *evidence.dead, *evidence.pending):
        if row.type in evidence.user_types or row.type == evidence.end_of_stream:
            present.setdefault(row.conversation, set()).add(row.sequence)
            expected[row.conversation] = max(expected.get(row.conversation, 0), row.sequence)
    for dialog in evidence.dialogs:
        if dialog.messages is not None:
            known = expected.get(dialog.conversation, 0)
            expected[dialog.conversation] = max(known, dialog.messages)
    found = {}
    resent = {dialog.conversation: dialog.resent for dialog in evidence.dialogs}
    for conversation, count in sorted(expected.items()):
        first = evidence.booked.get(conversation, 0)
        missing = sorted(set(range(first, count)) - present.get(conversation, set()))
        if len(missing) > resent.get(conversation, 0):
            found[conversation] = missing
    return found


def _lost_text(lost: list[Identity], evidence: Evidence) -> str:
    """Why messages are gone, as far as what is left can tell."""
    ended = any(row.type == evidence.end_of_stream for row in evidence.landed)
    why = (
        "; the callers were told they are sent. They went out on a dialog after its EndOfStream, "
        "which the target answered by ending it"
        if ended
        else "; the callers were told they are sent"
    )
    return f"lost: {len(lost)} messages landed nowhere: {_names(lost)}{why}"


def _order(verdict: Verdict, evidence: Evidence) -> None:
    """Within a conversation messages land in the order they were sent."""
    last: dict[str, Row] = {}
    inverted = []
    for row in evidence.landed:
        if row.type not in evidence.user_types and row.type != evidence.end_of_stream:
            continue
        before = last.get(row.conversation)
        if before is not None and row.sequence < before.sequence:
            inverted.append(row)
            continue
        last[row.conversation] = row
    verdict.out_of_order = len(inverted)
    if inverted:
        row = inverted[0]
        verdict.problems.append(
            f"out of order: {len(inverted)}, first number {row.sequence} of {row.conversation}"
        )


def _dialogs(verdict: Verdict, evidence: Evidence) -> None:
    """Every dialog begun is in use, on its way out, or closed on both sides."""
    begun = {row.conversation for row in evidence.landed}
    begun |= {dialog.conversation for dialog in evidence.dialogs}
    begun |= {endpoint.conversation for endpoint in evidence.endpoints}
    begun.discard("")
    alive = {e.conversation for e in evidence.endpoints if e.state != "CLOSED"}
    in_use = {e.conversation for e in evidence.endpoints if e.initiator and e.in_use}
    recycled = {r.conversation for r in evidence.landed if r.type == evidence.end_of_stream}
    recycled |= {dialog.conversation for dialog in evidence.dialogs if dialog.end_of_stream}
    leaked = sorted(alive - in_use)
    verdict.dialogs_begun = len(begun)
    verdict.recycled = len(recycled)
    verdict.closed = len(begun - alive)
    verdict.leaked = len(leaked)
    if leaked:
        states = sorted(
            f"{'initiator' if e.initiator else 'target'} {e.state}"
            for e in evidence.endpoints
            if e.conversation == leaked[0]
        )
        verdict.problems.append(
            f"leaked: {len(leaked)} dialogs that nobody will end, "
            f"first {leaked[0]} ({', '.join(states)})"
        )


def _errors(verdict: Verdict, clients: Clients, evidence: Evidence) -> None:
    """What callers and activated procedures were told."""
    victims = [text for number, text in clients.errors if number == 1205]
    activated = sum(1 for number, _ in evidence.errors if number == 1205)
    verdict.deadlocks = max(len(victims) + activated, len(evidence.deadlocks))
    verdict.sender_errors = len(clients.errors)
    if verdict.deadlocks:
        verdict.problems.append(
            f"deadlock: {verdict.deadlocks}, a caller the victim of {len(victims)} (1205)"
            + (f". The first: {evidence.deadlocks[0]}" if evidence.deadlocks else "")
        )
    others = [(number, text) for number, text in clients.errors if number != 1205]
    if others:
        number, text = others[0]
        verdict.problems.append(f"sender errors: {len(others)}, first {number}: {text}")
    if clients.unknown:
        verdict.problems.append(
            f"unknown: {len(clients.unknown)} messages whose answer a broken connection swallowed"
        )
    if evidence.errors:
        logged, text = evidence.errors[0]
        verdict.problems.append(f"ErrorLog: {len(evidence.errors)} rows, first {logged}: {text}")


def _names(identities: Iterable[Identity]) -> str:
    """A few identities as a person reads them."""
    names = [f"client {client} number {number}" for client, number in identities]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _some(numbers: list[int]) -> str:
    more = f" and {len(numbers) - SHOWN} more" if len(numbers) > SHOWN else ""
    return ", ".join(str(n) for n in numbers[:SHOWN]) + more
