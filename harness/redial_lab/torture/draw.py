"""Plans from seeds: which variant, which switches, which callers, which trouble."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from itertools import cycle
from random import Random

from redial.config import Config, load
from redial.config.variants import listing
from redial.paths import CONFIGS
from redial_broker.engine.switches import SWITCHES
from redial_broker.instance.instance import Instance
from redial_lab.torture.nemesis import KINDS
from redial_lab.torture.plan import LEVELS, Client, Data, Event, Plan, Switches

assert Instance is not None  # all switches are declared once the instance is loaded

SWITCH_NAMES = (
    "enqueue_at",
    "end_over_open_send",
    "send_over_open_end",
    "expiry_waits_for_sender",
    "error_receiver_state",
    "initiator_end_acknowledged",
    "fire_and_forget_retention",
    "retry_delay_s",
    "timer_in_dead_state",
    "poison_counts",
    "poison_reset",
    "receive_order",
    "relaunch",
    "killed_reader",
    "end_keeps_pending",
    "timer_while_off",
    "group_lock_timeout",
    "error_body_bom",
    "error_text_characters",
    "broker_error_dooms",
    "xact_abort_counts",
    "endpoint_reads_wait",
    "transmission_reads_wait",
    "failed_statement_locks",
    "savepoint_locks",
    "bad_optimizer",
    "snapshot_level_taken",
    "insert_rowversions",
    "applock_when_doomed",
    "own_message_visible",
    "receive_unknown",
    "implicit_transactions_266",
    "system_message_sequence",
)
"""Switches of what matters to sending, receiving, ending and landing."""

FIRST = ("enqueue_at", "end_over_open_send", "send_over_open_end", "expiry_waits_for_sender")
"""Those that decide what END does to a message on its way."""

TARGET_DATABASE = "torture_target"
SHIPPED = ("audit", "etl", "logging", "orders")
HURRY = {"after_seconds": 60, "spread_seconds": 10, "retry_seconds": 5}


@cache
def settings() -> dict[str, Data]:
    """Every configuration that is tried, by name: the shipped ones as they are and with short
    times, every variant, and some with a database for the target or with signed procedures."""
    found: dict[str, Data] = {}
    for name in SHIPPED:
        data = load(CONFIGS / f"{name}.toml").model_dump(by_alias=True, mode="json")
        found[f"shipped-{name}"] = data
        found[f"hurried-{name}"] = _hurried(data)
    for variant in listing().variants:
        if not variant.comparison:
            found[variant.name] = variant.config.model_dump(by_alias=True, mode="json")
    for name in (
        "hurried-audit",
        "hurried-etl",
        "hurried-orders",
        "hurried-logging",
        "application-timer-key-exactly_once-anonymous-land-batch",
        "message-never-conversation-at_least_once-anonymous-land-batch",
        "pool-timer-conversation-exactly_once-who-hook-batch",
    ):
        base = found.get(name) or next(
            data for known, data in found.items() if known.startswith(name.rpartition("-")[0])
        )
        found[f"{name}-two_databases"] = _changed(base, target={"database": TARGET_DATABASE})
        found[f"{name}-signing"] = _changed(base, security={"signing": "certificate"})
    return {name: data for name, data in found.items() if _valid(data)}


def _changed(data: Data, **sections: Data) -> Data:
    data = deepcopy(data)
    for section, values in sections.items():
        data[section] = {**data.get(section, {}), **values}
    return data


def _hurried(data: Data) -> Data:
    """With times short enough for a trial of minutes."""
    conversation = {"lifetime_seconds": 600, "longest_transaction_seconds": 60}
    if data["conversation"]["recycle"] == "never":
        return _changed(data, conversation=conversation)
    aged = data["aged_out"]
    return _changed(
        data,
        conversation=conversation,
        timer=HURRY,
        pool={"size": 3, "wait_ms": 1000},
        aged_out={
            "after_seconds": 60 if aged["after_seconds"] else 0,
            "spread_seconds": 10,
            "after_messages": 20 if aged["after_messages"] else 0,
            "spread_messages": 0,
            "idle_seconds": 30,
        },
    )


def _valid(data: Data) -> bool:
    try:
        Config.model_validate(data)
    except ValueError:
        return False
    return True


def drawn(
    seed: int, name: str = "", mutant: str | None = None, messages: int = 1000, trouble: float = 1.0
) -> Plan:
    """The plan of a seed.

    name: a setting; '' for the one whose turn it is. messages: about how many are sent. trouble:
    how often the nemesis strikes, beside what is usual.
    """
    known = settings()
    draw = Random(f"plan/{seed}")
    name = name or list(known)[seed % len(known)]
    config = _shorter_lifetime(known[name], draw)
    seconds = _seconds(draw, config)
    clients = _clients(draw, messages, seconds)
    events = [
        _event(draw, seconds) for _ in range(int(messages * draw.uniform(0.01, 0.06) * trouble))
    ]
    return Plan(
        seed,
        name,
        config,
        mutant,
        _switches(draw),
        draw.random() < 0.4,
        seconds,
        clients,
        tuple(sorted(events, key=lambda event: event.at)),
    )


def _switches(draw: Random) -> Switches:
    """The four that matter most by lot; of the others each is at its default half of the time."""
    found = {name: draw.choice(SWITCHES[name].values) for name in FIRST}
    for name in SWITCH_NAMES:
        chosen = draw.choice((SWITCHES[name].default, *SWITCHES[name].values))
        found.setdefault(name, chosen)
    return {name: value for name, value in found.items() if value != SWITCHES[name].default}


def _shorter_lifetime(data: Data, draw: Random) -> Data:
    """Sometimes as short a lifetime as the configuration allows: dialogs expire in the trial."""
    if draw.random() < 0.5 or data["conversation"]["lifetime_seconds"] > 3600:
        return data
    for seconds in (140, 190, 250, 400):
        shorter = _changed(data, conversation={"lifetime_seconds": seconds})
        if _valid(shorter):
            return shorter
    return data


def _seconds(draw: Random, config: Data) -> float:
    """Long enough for dialogs to be replaced several times, or to expire."""
    conversation, age = config["conversation"], 120.0
    if conversation["recycle"] == "timer":
        age = config["timer"]["after_seconds"]
    elif conversation["recycle"] == "aged_out":
        age = config["aged_out"]["after_seconds"] or 120.0
    elif conversation["lifetime_seconds"] <= 3600:
        age = conversation["lifetime_seconds"] / 2
    return age * draw.uniform(2, 8)


def _clients(draw: Random, messages: int, seconds: float) -> tuple[Client, ...]:
    count = draw.choice((2, 4, 6, 8))
    keys = tuple(f"k{number}" for number in range(draw.choice((1, 2, 5))))
    units = max(1, round(messages / 2.2 / count))
    levels = cycle(draw.sample(LEVELS, len(LEVELS)))
    return tuple(
        Client(
            number,
            draw.choice(("READ COMMITTED", next(levels))),
            draw.random() < 0.5,
            draw.choice((-1, -1, 500, 5000)),
            keys,
            round(seconds / units, 3),
            tuple(range(units)),
        )
        for number in range(count)
    )


def _event(draw: Random, seconds: float) -> Event:
    kinds = {name: kind.weight for name, kind in KINDS.items()}
    kind = draw.choices(list(kinds), list(kinds.values()))[0]
    return Event(
        round(draw.uniform(0, seconds), 1), draw.randint(0, 400), kind, draw.randrange(1000)
    )
