"""Every combination of choices (origins: choices), and which of them make sense.

Whether one makes sense is decided by the config model alone: each is tried, what validates is
kept. A choice that has no template yet is refused by the model (``AVAILABLE``), so the list grows
with it.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from pydantic import ValidationError

from redial.config import Config
from redial.config.choices import Delivery, Key, Order, Processing, Recycle, TimerStrategy
from redial.config.keys import every_key, keys_with

END_OF_STREAM = "EndOfStream"
EVENT = "//combo/event"
BASE: dict[str, Any] = {
    "name": "combo",
    "schema": "combo",
    "services": {"initiator": "//combo/initiator", "target": "//combo/target"},
    "contract": {"name": "//combo/contract", "end_of_stream": END_OF_STREAM},
    "message_types": [{"name": EVENT, "validation": "none"}],
    "conversation": {"lifetime_seconds": 600, "longest_transaction_seconds": 60},
    "timer": {"after_seconds": 60, "spread_seconds": 10, "retry_seconds": 5},
    "initiator": {"readers": 2},
    "target": {},
    "modules": {"pieces": True},
    "roles": {
        "module": "combo_module",
        "sender": "combo_sender",
        "operator": "combo_operator",
        "reader": "combo_reader",
    },
}
AGED_OUT = {
    "after_seconds": 60,
    "after_messages": 4,
    "spread_seconds": 10,
    "spread_messages": 1,
    "idle_seconds": 30,
}
POOL = {"size": 3, "wait_ms": 1000}
MODES: dict[str, dict[str, Any]] = {
    "batch": {"readers": 3, "receive_batch": 500, "receive_wait_ms": 1000},
    "one": {"readers": 1, "receive_batch": 1, "receive_wait_ms": 0},
}
"""Receive mode: sets by several readers that wait, or one row by one reader that leaves at once.
It is the target's alone, so it is dealt in turn: each value of every choice meets both."""

KEYS = tuple(choice.value for choice in Key)
RECYCLES = tuple(choice.value for choice in Recycle)
ORDERS = tuple(choice.value for choice in Order)
DELIVERIES = tuple(choice.value for choice in Delivery)
WHO = ("anonymous", "who")
PROCESSINGS = tuple(choice.value for choice in Processing)
COMPARISONS = tuple(choice.value for choice in TimerStrategy if choice != TimerStrategy.TWO_PHASE)
"""Strategies that are never shipped; they are tried with one key and one of everything else."""

EXTRAS: dict[str, dict[str, Any]] = {
    "spid-timer-encryption": {"conversation": {"encryption": True}},
    "spid-timer-priority": {"priority": {"level": 8}},
    "pool-never-priority": {
        "conversation": {"key": "pool", "recycle": "never"},
        "pool": POOL,
        "priority": {"level": 2},
    },
    "spid-timer-signing": {"security": {"signing": "certificate"}},
    "spid-timer-jobs": {"operations": {"agent_job": True, "alert_queue_off": True}},
    "spid-timer-retention": {
        "retention": {"landing_days": 1, "log_days": 1, "dead_letter_days": 1}
    },
    "spid-timer-landing": {"landing": {"order_index": True, "compression": "page"}},
    "spid-timer-previous_contract": {
        "contract": {
            "name": "//combo/contract/v2",
            "end_of_stream": END_OF_STREAM,
            "previous": ["//combo/contract"],
        }
    },
    "spid-timer-broker_wait": {"database": {"enable_broker": "wait"}},
    "spid-timer-broker_never": {"database": {"enable_broker": "never"}},
    "spid-timer-poison_limit_4": {"poison": {"limit": 4}},
    "spid-timer-never_slowed": {"poison": {"slow_after": 0}},
    "application-timer-key-wait": {
        "conversation": {"key": "application", "order": "key"},
        "poison": {"after_dead_letter": "wait"},
    },
    "application-timer-key-exactly_once-hook-wait": {
        "conversation": {"key": "application", "order": "key", "delivery": "exactly_once"},
        "target": {"processing": "hook"},
        "poison": {"after_dead_letter": "wait"},
    },
}
"""What belongs to no axis: once each, on top of the base."""


@dataclass(frozen=True)
class Variant:
    """One combination that validates."""

    name: str
    config: Config
    comparison: bool = False

    @property
    def key(self) -> str:
        """Who shares a dialog."""
        return self.config.conversation.key.value

    @property
    def recycle(self) -> str:
        """When a dialog is replaced."""
        return self.config.conversation.recycle.value


@dataclass(frozen=True)
class Listing:
    """What was tried."""

    variants: tuple[Variant, ...]
    """Those that make sense."""
    tried: int
    """How many combinations."""
    senseless: int
    """How many make no sense."""
    unavailable: int
    """How many cannot be rendered yet."""

    def __str__(self) -> str:
        return (
            f"{len(self.variants)} variants make sense of {self.tried} combinations; the model "
            f"refuses {self.senseless}, and {self.unavailable} for a choice not available yet"
        )


def merged(changes: dict[str, Any]) -> dict[str, Any]:
    """The base with some tables' keys changed."""
    data = deepcopy(BASE)
    for section, values in changes.items():
        data[section] = {**data.get(section, {}), **values}
    return data


def combination(
    key: str,
    recycle: str,
    order: str,
    delivery: str,
    who: str,
    processing: str,
    mode: str,
    strategy: str = "two_phase",
) -> dict[str, Any]:
    """A config file's content. A default is left out, so that older models understand it."""
    conversation: dict[str, Any] = {"key": key, "recycle": recycle}
    changes: dict[str, Any] = {"conversation": conversation, "target": dict(MODES[mode])}
    if order != "conversation":
        conversation["order"] = order
    if delivery != "at_least_once":
        conversation["delivery"] = delivery
    if strategy != "two_phase":
        conversation["timer_strategy"] = strategy
    if who == "who":
        changes["envelope"] = {"who": True}
    if processing != "land":
        changes["target"]["processing"] = processing
    if every_key()[key].slots:
        changes["pool"] = POOL
    if recycle == "aged_out":
        changes["aged_out"] = AGED_OUT
    return merged(changes)


def _candidates() -> list[tuple[str, dict[str, Any], bool]]:
    """Name, content, whether it is for comparison."""
    axes = (KEYS, RECYCLES, ORDERS, DELIVERIES, WHO, PROCESSINGS)
    found = []
    for numbers in product(*map(range, map(len, axes))):
        mode = tuple(MODES)[sum(numbers) % len(MODES)]
        chosen = [*(axis[number] for axis, number in zip(axes, numbers)), mode]
        found.append(("-".join(chosen), combination(*chosen), False))
    found += [(name, merged(changes), False) for name, changes in EXTRAS.items()]
    plain = ("timer", "conversation", "at_least_once", "anonymous", "land", "batch")
    found += [
        (f"{key}-{strategy}", combination(key, *plain, strategy=strategy), True)
        for key in keys_with("row_of_one_key")
        for strategy in COMPARISONS
    ]
    return found


@cache
def listing() -> Listing:
    """Every combination, tried."""
    variants, senseless, unavailable = [], 0, 0
    candidates = _candidates()
    for name, data, comparison in candidates:
        try:
            variants.append(Variant(name, Config.model_validate(data), comparison))
        except ValidationError as error:
            words = str(error)
            later = "not available yet" in words or "extra_forbidden" in words
            unavailable += later
            senseless += not later
    return Listing(tuple(variants), len(candidates), senseless, unavailable)


if __name__ == "__main__":
    print(listing())
