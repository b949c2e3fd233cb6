"""The setups generated mutants are hunted in: small ones, each exhausted in a second.

The cases are in ``battery_*``, by what they show; here is who is hunted in which of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from redial.config import Config
from redial_lab.explore.checks import no_deadlock, nothing_left_behind
from redial_lab.explore.scenario import Client, Scenario
from redial_lab.explore.world import World
from redial_lab.proof.audit_setups import DATABASE, TIDY
from redial_lab.proof.battery_activation import RECEIVING, RECYCLING
from redial_lab.proof.battery_choices import CHOICES, IN_CHOICES
from redial_lab.proof.battery_operator import IN_OPERATOR, OPERATOR
from redial_lab.proof.battery_resend import RESENDING
from redial_lab.proof.battery_send import BEGINNING, SENDING
from redial_lab.proof.battery_target import IN_TARGET, TARGETS
from redial_lab.proof.setups import Setup
from redial_lab.proof.wanted import Wanted as Wanted  # noqa: PLC0414  # for who asks here

WANTED: Mapping[str, Wanted] = {
    **SENDING,
    **BEGINNING,
    **RECYCLING,
    **RECEIVING,
    **RESENDING,
    **TARGETS,
    **OPERATOR,
    **CHOICES,
}
"""Every case."""


_SENDS = (
    "xact_abort",
    "serializable",
    "wrong calls",
    "dead before",
    "removed before",
    "removed before, XACT_ABORT",
    "gate",
    "dead before, caught",
    "cancel",
    "cancel, transaction",
    "cancel, XACT_ABORT",
    "other contract",
    "removed before, doomed",
    "one key",
    "one key, transactions",
    "one key, XACT_ABORT",
)
_BEGINS = (
    "bad optimizer",
    "bad optimizer, first",
    "beginning fails",
    "beginning again fails",
    "taken for ever",
    "beginning fails, told",
    "beginning fails, caught",
    "no service",
    "bad optimizer, beginning fails",
)
_IN: Mapping[str, tuple[str, ...]] = {
    "usp_Send": (
        *_SENDS,
        "trigger ends it",
        "no key",
        "long body",
        "serializable, two",
        *_BEGINS,
        "target ends, XACT_ABORT",
        "timer",
    ),
    "usp_AcquireConversation": (
        *_SENDS,
        "gate, dialog",
        "own keys",
        *_BEGINS,
        "reads wait, one key",
        "reads wait",
        "target ends, XACT_ABORT",
        "timer",
        "transaction",
    ),
    "usp_BeginConversation": ("first send", *_SENDS, "own keys", *_BEGINS, "reads wait, one key"),
    "usp_RecycleConversation": (
        "first send",
        "wrong calls",
        "timer, removed",
        "closing fails",
        "timer, target ends",
        "target ends",
        "failing",
        "timer",
        "transaction",
        "bad optimizer, beside",
        "retired",
        "RCSI",
        "trigger on a dead dialog",
        "recycled by hand",
        "overdue, busy",
    ),
    "usp_SenderActivation": (
        "first send",
        "by hand",
        "arming fails",
        "closing fails",
        "error message",
        "blind",
        "failing",
        "timer",
        "queue off",
        "timer, reader dies",
        "failing, reader dies",
        "by hand, SERIALIZABLE",
        "arming fails, lifetime",
        "arming fails in it",
        "arming fails in it, busy",
        "arming fails, by hand",
        "a stranger's message",
        "a stranger's message, reader dies",
        "many pending",
        "few pending",
        "few pending, strangers",
        "queue off, by hand",
        "deadlock with a query",
        "resend fails once",
        "deadlock with a query, pending",
        "bad optimizer, ended",
        "severe, by hand",
        "timer, log held",
        "overdue, busy",
        "another overdue, busy",
        "a stranger's messages, one refused",
        "reads wait",
    ),
    "usp_SendEndOfStream": (
        "wrong calls",
        "first send",
        "closing fails",
        "reads wait",
        "bad optimizer, beside",
    ),
    "usp_ArmTimer": (
        "wrong calls",
        "armed beside",
        "wrong calls, doomed",
        "first send",
        "failing",
        "timer",
    ),
    "usp_ResendPending": (
        "wrong calls",
        "given up",
        "dead-lettered",
        "codes",
        "ended by hand",
        "giving up fails",
        "given up beside a sender",
        "long bodies",
        "failing",
        "error message",
        "failing, reader dies",
        "given up, SERIALIZABLE",
        "strangers given up",
        "given up, blind",
        "given up while it begins",
        "never sent on",
        "resend fails once",
        "bad optimizer, given up",
        "bad optimizer, pending",
        "reads wait",
    ),
}

PROCEDURES = frozenset({*_IN, *IN_TARGET, *IN_OPERATOR, *IN_CHOICES})
"""Whose mutants are made."""


LARGE = frozenset(
    {
        "long bodies",
        "bad optimizer, beside",
        "target ends",
        "error message",
        "timer",
        "transaction",
        "failing",
        "target ends, XACT_ABORT",
        "RCSI",
        "queue off",
        "timer, target ends",
        "retired",
        "recycled by hand",
        "arming fails, lifetime",
        "arming fails in it, busy",
        "many pending",
        "resend fails once",
        "bad optimizer, given up",
        "reads wait",
        "timer, reader dies",
        "two readers, poison",
        "reads wait at the target",
        "bad optimizer, ended after poison",
        "lands, recycled",
        "drained beside a sender",
        "drained beside a transaction",
        "drained, a row held",
        "drained, bad optimizer",
        "retired, bad optimizer",
        "retired together",
        "retired, both of two",
        "pool, start taken",
        "pool, start taken, implicit",
        "pool of two, three senders",
        "pool of two, all busy",
        "single, first users, again",
        "aged, beginning again fails",
        "aged, ended by hand, XACT_ABORT",
        "once, two readers",
        "overdue, busy",
        "another overdue, busy",
        "deadlock with a query, pending",
        "lands, SERIALIZABLE",
        "pool, timer",
        "pool, target ends",
        "pool, busy",
        "pool, busy, less patience",
        "pool, two messages",
        "pool, drained",
        "message",
        "aged, ended by hand",
        "aged, of before",
        "once",
        "once, resent",
    }
)
"""Cases of more than 700 transitions: who hunts for many mutants looks into the others first."""


def cases_of(mutant: str) -> tuple[str, ...]:
    """The cases a mutant is hunted in: those in which its procedure does something of its own; the
    other choices' cases where the text is theirs only (its name says so: usp_X@pool.where.it).
    """
    name, _, choice = mutant.partition(".")[0].partition("@")
    return (
        *_IN.get(name, ()),
        *IN_TARGET.get(name, ()),
        *IN_OPERATOR.get(name, ()),
        *(IN_CHOICES.get(name, ()) if choice else ()),
    )


def scenario(wanted: Wanted) -> tuple[Scenario, Config]:
    """What is searched without a mutant, and its configuration."""
    setup = Setup.parse(wanted.setup)
    made = setup.scenario()
    client = made.clients[0]
    first = replace(
        client,
        batches=wanted.batches or client.batches,
        **cast("dict[str, Any]", {"on_cancel": "", "on_error": ""} if wanted.untidy else {}),
    )
    changes: dict[str, Any] = {"listens": wanted.listens}  # of a ``Scenario``, each its own type
    if wanted.one_go:
        changes |= {"in_one_go": frozenset({"InitiatorQueue", "TargetQueue"})}
    if wanted.batches or wanted.others or not wanted.claims:
        changes |= {"at_the_end": _nothing if wanted.left else nothing_left_behind, "account": None}
    if not wanted.claims:
        changes |= {"on_every_state": _nothing if wanted.deadlocks else no_deadlock}
    clients = (first, *made.clients[1:])
    if wanted.before:
        clients = tuple(
            replace(client, batches=tuple(f"{wanted.before} {text}" for text in client.batches))
            for client in clients
        )
    clients += tuple(
        Client(f"somebody {number}", (text,), DATABASE, (), TIDY, TIDY)
        for number, text in enumerate(wanted.others, 1)
    )
    return replace(made, clients=clients, **changes), _config(setup, wanted)


def _nothing(_: World) -> list[str]:
    return []


def _config(setup: Setup, wanted: Wanted) -> Config:
    if not wanted.choices:
        return setup.config
    data = setup.config.model_dump(by_alias=True, mode="json")
    for section, name, value in wanted.choices:
        data[section][name] = value
    return Config.model_validate(data)
