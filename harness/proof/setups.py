"""Setups: which of our configurations is searched, with which callers, actors and faults.

A ``Setup`` is data; ``scenario`` makes what the explorer searches of it, with every claim of
``claims`` as a named check.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.broker.engine.switches import parse
from harness.config import Config
from harness.explore.accounting import Ledger, Places
from harness.explore.checks import all_of, nothing_left_behind
from harness.explore.faults import (
    Fault,
    error_message,
    queue_off,
    queue_off_and_on,
    queue_on,
    target_ends,
)
from harness.explore.world import Client, Scenario, World
from harness.proof.audit import (
    DATABASE,
    EVENT,
    TARGET_IN_ONE_GO,
    TIDY,
    deployed,
    rows,
    small_config,
    undelivered,
)
from harness.proof.claims import (
    AT_REST,
    LIVELOCK,
    ON_EVERY_STATE,
    Claim,
    Subject,
    claims,
    watched,
)

INITIATOR_QUEUE, TARGET_QUEUE = "audit.InitiatorQueue", "audit.TargetQueue"
NAMES = ("N'//redial/audit/initiator', N'//redial/audit/target', N'//redial/audit/contract', "
         f"N'{EVENT}'")

FAULTS: dict[str, Fault] = {
    "kill": Fault("kill"),
    "cancel": Fault("cancel"),
    "rollback": Fault("rollback"),
    "lock_timeout": Fault("lock_timeout"),
    "reader_restart": Fault("reader_restart"),
    "pause": Fault("pause"),
    "queue_off": queue_off(TARGET_QUEUE, DATABASE),
    "queue_off_and_on": queue_off_and_on(TARGET_QUEUE, DATABASE),
    "queue_on": queue_on(TARGET_QUEUE, DATABASE),
    "initiator_queue_off_and_on": Fault(
        "initiator_queue_off_and_on", sql=queue_off_and_on(INITIATOR_QUEUE, DATABASE).sql,
        database=DATABASE),
    "target_ends": target_ends(DATABASE, TARGET_QUEUE),
    "error_message": error_message(DATABASE, TARGET_QUEUE),
}
"""Faults by name, as ``Setup.faults`` and the command line take them."""

CALLERS = ("autocommit", "transaction", "trigger", "xact_abort")
ORDERS = ("CREATE TABLE dbo.Orders (Body varbinary(8) NOT NULL PRIMARY KEY);",
          "CREATE TRIGGER dbo.Orders_Send ON dbo.Orders AFTER INSERT AS BEGIN SET NOCOUNT ON; "
          "DECLARE @body varbinary(max) = (SELECT Body FROM inserted); "
          f"EXECUTE audit.usp_Send {NAMES}, @body{{key}}; END;")
RETIRE = "EXECUTE audit.usp_RetireIdle @olderThanSeconds = 1, @WhatIf = 0;"
IDLE = (RETIRE, "UPDATE audit.IdleWatch SET SinceUtc = '2000-01-01';")
LONG_AGO = "UPDATE audit.ConversationLog SET BegunUtc = '2000-01-01';"
DRAIN = "EXECUTE audit.usp_Drain @reason = N'search', @waitSeconds = 1, @WhatIf = 0;"


@dataclass(frozen=True, slots=True)
class Setup:
    """One case to search.

    key, recycle, strategy, hint, order, delivery: of the configuration. isolation: rc or rcsi of
    the database. caller: how a sender calls. senders: 1 to 4; warm: how many of them have a dialog
    already; messages: batches of each. shared: senders of key = application use one key. readers,
    target_readers: sessions that run each queue's procedure; 0 target readers: one, in a single
    step. firings: conversation timers that fire. overdue: warm dialogs are, so a recycle queues up
    for its row. lifetimes: dialogs whose lifetime ends while their messages pend (the target's
    queue is off), so that they are resent. retire: the retire job runs once, after the first warm
    dialog has become idle. drain: an operator drains. slots: of a pool. faults: names of
    ``FAULTS``. mutant: known-bad scripts. switches: values of the engine's.
    """

    key: str = "spid"
    recycle: str = "timer"
    strategy: str = "two_phase"
    hint: str = "updlock"
    order: str = "conversation"
    delivery: str = "at_least_once"
    isolation: str = "rc"
    caller: str = "autocommit"
    senders: int = 2
    warm: int = 1
    messages: int = 1
    shared: bool = True
    readers: int = 1
    target_readers: int = 0
    firings: int = 1
    overdue: bool = False
    lifetimes: int = 0
    retire: bool = False
    drain: bool = False
    slots: int = 1
    faults: tuple[str, ...] = ()
    mutant: str | None = None
    switches: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what cannot be searched. Raises ValueError."""
        checks = {
            "isolation: rc, rcsi": self.isolation in ("rc", "rcsi"),
            f"caller: {', '.join(CALLERS)}": self.caller in CALLERS,
            "senders: 1 to 4": 1 <= self.senders <= 4,
            "warm: 0 to senders": 0 <= self.warm <= self.senders,
            "readers: 1 to 3": 1 <= self.readers <= 3,
            "target_readers: 0 to 3": 0 <= self.target_readers <= 3,
            "messages: 1 to 9": 1 <= self.messages <= 9,
            f"faults: {', '.join(FAULTS)}": set(self.faults) <= set(FAULTS),
        }
        wrong = [rule for rule, holds in checks.items() if not holds]
        if wrong:
            raise ValueError(f"setup: allowed are {'; '.join(wrong)}")

    def __str__(self) -> str:
        """What differs from the default, in one line."""
        plain = Setup()
        found = [f"{name} {getattr(self, name)}" for name in self.__slots__
                 if getattr(self, name) != getattr(plain, name) or name == "key"]
        return ", ".join(found)

    @classmethod
    def parse(cls, text: str) -> Setup:
        """A setup written as ``key=pool senders=2 faults=kill+pause switches=relaunch:x``.

        Raises ValueError naming what is wrong and what is allowed.
        """
        plain, found = cls(), {}
        for word in text.split():
            name, equals, value = word.partition("=")
            if not equals or name not in cls.__slots__:
                raise ValueError(f"setup {word!r}: write name=value; the names are "
                                 f"{', '.join(cls.__slots__)}")
            default = getattr(plain, name)
            if name == "faults":
                found[name] = tuple(value.split("+"))
            elif name == "switches":
                pairs = (pair.partition(":") for pair in value.split("+"))
                found[name] = parse(f"{key}={given}" for key, _, given in pairs)
            elif isinstance(default, bool | int):
                if not value.isdigit():
                    raise ValueError(f"setup {word!r}: a whole number is needed (1 for yes)")
                found[name] = type(default)(int(value))
            else:
                found[name] = value
        return cls(**found)

    # ------------------------------------------------------------------ what it makes
    @property
    def config(self) -> Config:
        """The configuration: the small audit one with these choices."""
        data = small_config(self.strategy).model_dump(by_alias=True, mode="json")
        data["conversation"] |= {"key": self.key, "recycle": self.recycle, "order": self.order,
                                 "delivery": self.delivery}
        data["aged_out"] |= {"after_seconds": 0, "after_messages": 1}
        data["pool"] |= {"size": self.slots}
        data["comparison"]["lookup_hint"] = self.hint
        return Config.model_validate(data)

    @property
    def ledger(self) -> Ledger:
        """What the senders send, and what was sent before."""
        batches = {(number, batch): (f"{letter}{batch + 1}",)
                   for number, letter in enumerate("ABCD"[:self.senders])
                   for batch in range(self.messages)}
        return Ledger(batches, PLACES, tuple(f"{letter}0" for letter in "ABCD"[:self.warm]))

    def scenario(self) -> Scenario:
        """What the explorer searches."""
        config, ledger = self.config, self.ledger
        subject = self.subject
        kinds = {"ssb.timer": self.firings, "ssb.lifetime": self.lifetimes}
        one_go = frozenset() if self.target_readers else frozenset({"TargetQueue"})
        return Scenario(
            str(self), lambda: deployed(config, rcsi=self.isolation == "rcsi", first=self.first,
                                        mutant=self.mutant),
            (*self._senders(), *self._others()),
            on_every_state=claims(subject, self.always),
            at_the_end=all_of(claims(subject, self.at_rest), nothing_left_behind),
            in_one_go=one_go, firings=self.firings + self.lifetimes,
            timer_kinds=frozenset(kind for kind, times in kinds.items() if times),
            timer_limits={kind: times for kind, times in kinds.items() if times},
            faults=tuple(FAULTS[name] for name in self.faults), switches=self.switches,
            notes=(TARGET_IN_ONE_GO,) if one_go else (), account=ledger, livelock=LIVELOCK,
            asked=DATABASE, watched=watched)

    @property
    def first(self) -> tuple[str, ...]:
        """T-SQL run after the installation, before anybody sends."""
        key = ", @key = N'k'" if self.key == "application" else ""
        found = (ORDERS[0], ORDERS[1].format(key=key)) if self.caller == "trigger" else ()
        return found + ((f"ALTER QUEUE {TARGET_QUEUE} WITH STATUS = OFF;",) if self.lifetimes
                        else ())

    @property
    def subject(self) -> Subject:
        """What the claims are told of it."""
        ours = self.key == "application" and self.shared
        keys = {"pool": self.slots, "single": 1, "message": self.senders * self.messages
                + self.warm}.get(self.key, 1 if ours else self.senders)
        return Subject(
            self.ledger, frozenset(f"sender {letter}" for letter in "ABCD"[:self.senders]),
            alone=self.key in ("spid", "message"), keys=keys, numbered=self.order == "key",
            resends=bool(self.lifetimes) or bool({"target_ends", "error_message"}
                                                 & set(self.faults)),
            rows=self.config.has_rows and not self.foreign, pool=self.key == "pool",
            ends=not self.lifetimes and not self.foreign, oldest=self._oldest)

    @property
    def foreign(self) -> bool:
        """Whether its tables are not ours: the article's have no ages and no log of the ended."""
        return self.strategy == "article"

    @property
    def always(self) -> dict[str, Claim]:
        """What must hold in every state, by its name."""
        return {name: claim for name, claim in ON_EVERY_STATE.items()
                if not self.foreign or name != "S5"}

    @property
    def at_rest(self) -> dict[str, Claim]:
        """What must hold when nobody can go on, by its name."""
        return {name: claim for name, claim in AT_REST.items()
                if not self.foreign or name not in ("S6", "L1")}

    @property
    def _oldest(self) -> int:
        timer = self.config.timer
        return timer.after_seconds + timer.spread_seconds if self.recycle == "timer" else 0

    def _senders(self) -> tuple[Client, ...]:
        clients = []
        for number, letter in enumerate("ABCD"[:self.senders]):
            warm = (self._text(number, f"{letter}0"),) if number < self.warm else ()
            if self.retire and not number:
                warm += IDLE
            if warm and self.overdue:
                warm += (LONG_AGO,)
            texts = tuple(self._text(number, f"{letter}{batch + 1}")
                          for batch in range(self.messages))
            clients.append(Client(f"sender {letter}", texts, DATABASE, warm, TIDY, TIDY))
        return tuple(clients)

    def _text(self, number: int, body: str) -> str:
        """One batch of a sender."""
        key = f", @key = N'{'k' if self.shared else 'ABCD'[number]}'" \
            if self.key == "application" else ""
        call = f"EXECUTE audit.usp_Send {NAMES}, 0x{body}{key};"
        return {
            "autocommit": call,
            "transaction": f"BEGIN TRANSACTION; {call} COMMIT TRANSACTION;",
            "xact_abort": f"SET XACT_ABORT ON; BEGIN TRANSACTION; {call} COMMIT TRANSACTION;",
            "trigger": f"INSERT INTO dbo.Orders (Body) VALUES (0x{body});",
        }[self.caller]

    def _others(self) -> tuple[Client, ...]:
        others = [Client(f"reader {n}", ("EXECUTE audit.usp_SenderActivation;",), DATABASE)
                  for n in range(2, self.readers + 1)]
        others += [Client(f"target reader {n}", ("EXECUTE audit.usp_TargetActivation;",), DATABASE)
                   for n in range(2, self.target_readers + 1)]
        if self.retire:
            others.append(Client("job", (RETIRE,), DATABASE))
        if self.drain:
            others.append(Client("operator", (DRAIN,), DATABASE))
        return tuple(others)


def _bodies(table: str):
    """Bodies (hexadecimal) of the user messages in one of our tables."""
    def look(world: World) -> list[str]:
        return [body.hex().upper() for kind, body in rows(world, table, "MessageType", "Body")
                if body and kind == EVENT]
    return look


PLACES = Places(_bodies("Landing"), undelivered, _bodies("DeadLetter"))
"""Where our messages lie."""
