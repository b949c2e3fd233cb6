"""Setups: which of our configurations is searched, with which callers, actors and faults.

A ``Setup`` is data; ``scenario`` makes what the explorer searches of it, with every claim of
``claims`` as a named check.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from redial.config import Config
from redial.config.choices import Delivery, Key, LookupHint, Order, Recycle, TimerStrategy
from redial.config.keys import Traits, every_key
from redial_broker.engine.switches import parse
from redial_lab.end_conversation import WITH_CLEANUP
from redial_lab.explore.checks import all_of, nothing_left_behind
from redial_lab.explore.faults import OF_THE_SERVER, Fault
from redial_lab.explore.message_accounts import Ledger
from redial_lab.explore.operators import (
    WITH_ERROR,
    ends_now,
    error_message,
    queue_off,
    queue_off_and_on,
    queue_on,
    stranger_sends,
    target_ends,
)
from redial_lab.explore.scenario import LIVELOCK
from redial_lab.explore.world import Client, Scenario
from redial_lab.proof.audit_setups import (
    DATABASE,
    EVENT,
    TARGET_IN_ONE_GO,
    TIDY,
    deployed,
    small_config,
)
from redial_lab.proof.claims import (
    AT_REST,
    DIED,
    ON_EVERY_STATE,
    Claim,
    Subject,
    claims,
    watched,
)
from redial_lab.proof.places import PLACES
from redial_lab.proof.witnesses import silent, witnesses

if TYPE_CHECKING:
    from redial_lab.explore.scenario import Switches

    Fields = Mapping[str, Any]
    """Fields of a ``Setup`` by name: each has a type of its own."""

INITIATOR_QUEUE, TARGET_QUEUE = "audit.InitiatorQueue", "audit.TargetQueue"
NAMES = (
    f"N'//redial/audit/initiator', N'//redial/audit/target', N'//redial/audit/contract', N'{EVENT}'"
)

FAULTS: dict[str, Fault] = {
    "kill": Fault("kill"),
    "cancel": Fault("cancel"),
    "rollback": Fault("rollback"),
    "lock_timeout": Fault("lock_timeout"),
    "reader_restart": Fault("reader_restart"),
    "pause": Fault("pause"),
    "reconnect": Fault("reconnect"),
    "answer_lost": Fault("answer_lost"),
    "victim": Fault("victim"),
    "disk_full": Fault("disk_full"),
    "time_limit": Fault("time_limit"),
    **{kind: Fault(kind) for kind in OF_THE_SERVER},
    "queue_off": queue_off(TARGET_QUEUE, DATABASE),
    "queue_off_and_on": queue_off_and_on(TARGET_QUEUE, DATABASE),
    "queue_on": queue_on(TARGET_QUEUE, DATABASE),
    "initiator_queue_off_and_on": Fault(
        "initiator_queue_off_and_on",
        sql=queue_off_and_on(INITIATOR_QUEUE, DATABASE).sql,
        database=DATABASE,
    ),
    "target_ends": target_ends(DATABASE, TARGET_QUEUE),
    "error_message": error_message(DATABASE, TARGET_QUEUE),
    "stranger_sends": stranger_sends(DATABASE, EVENT),
    **{
        name: ends_now(name, DATABASE, initiator=initiator, how=how)
        for name, initiator, how in (
            ("target_ends_now", False, ""),
            ("target_errors_now", False, WITH_ERROR),
            ("target_cleaned", False, WITH_CLEANUP),
            ("initiator_ends_now", True, ""),
            ("initiator_errors_now", True, WITH_ERROR),
            ("initiator_cleaned", True, WITH_CLEANUP),
        )
    },
}
"""Faults by name, as ``Setup.faults`` and the command line take them."""

CALLERS = ("autocommit", "transaction", "trigger", "xact_abort")
ALLOWED: dict[str, tuple[str, ...]] = {
    "key": tuple(Key),
    "recycle": tuple(Recycle),
    "strategy": tuple(TimerStrategy),
    "hint": tuple(LookupHint),
    "order": tuple(Order),
    "delivery": tuple(Delivery),
    "isolation": ("rc", "rcsi"),
    "caller": CALLERS,
}
"""What a setup's fields may be, where that is a list of names."""

OWN_TRANSACTION = ("transaction", "xact_abort")
ORDERS = (
    "CREATE TABLE dbo.Orders (Body varbinary(8) NOT NULL PRIMARY KEY);",
    "CREATE TRIGGER dbo.Orders_Send ON dbo.Orders AFTER INSERT AS BEGIN SET NOCOUNT ON; "
    "DECLARE @body varbinary(max) = (SELECT Body FROM inserted); "
    f"EXECUTE audit.usp_Send {NAMES}, @body{{key}}; END;",
)
RETIRE = "EXECUTE audit.usp_RetireIdle @olderThanSeconds = 1, @WhatIf = 0;"
IDLE = (RETIRE, "UPDATE audit.IdleWatch SET SinceUtc = '2000-01-01';")
LONG_AGO = "UPDATE audit.ConversationLog SET BegunUtc = '2000-01-01';"
DRAIN = "EXECUTE audit.usp_Drain @reason = N'search', @waitSeconds = 1, @WhatIf = 0;"


@dataclass(frozen=True, slots=True)
class Setup:
    """One case to search."""

    key: str = "spid"
    recycle: str = "timer"
    strategy: str = "two_phase"
    hint: str = "updlock"
    order: str = "conversation"
    delivery: str = "at_least_once"
    """key, recycle, strategy, hint, order, delivery: of the configuration."""
    isolation: str = "rc"
    """Rc or rcsi of the database."""
    caller: str = "autocommit"
    """How a sender calls."""
    senders: int = 2
    """1 to 4."""
    warm: int = 1
    """How many of them have a dialog already."""
    messages: int = 1
    """Batches of each."""
    sends: int = 1
    """Messages of a batch, in its one transaction."""
    retries: int = 0
    """How often a sender, in doubt, sends its first batch again with the same message ids
    (redial.client)."""
    shared: bool = True
    """Senders who name their key use one."""
    readers: int = 1
    target_readers: int = 0
    """readers, target_readers: sessions that run each queue's procedure; 0 target readers: one, in
    a single step."""
    firings: int = 1
    """Conversation timers that fire."""
    overdue: bool = False
    """Warm dialogs are, so a recycle queues up for its row."""
    lifetimes: int = 0
    """Dialogs whose lifetime ends while their messages pend (the target's queue is off), so that
    they are resent."""
    expiries: int = 0
    """Sides of dialogs whose lifetime ends at any moment, with the queues on."""
    retire: bool = False
    """The retire job runs once, after the first warm dialog has become idle."""
    drain: bool = False
    """An operator drains."""
    slots: int = 1
    """Of a pool (a dialog is aged out after one message)."""
    faults: tuple[str, ...] = ()
    """Names of ``FAULTS``."""
    mutant: str | None = None
    """known-bad scripts."""
    switches: Switches = field(default_factory=dict)
    """Values of the engine's."""

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
            "sends: 1 to 9, messages times sends at most 9, more than 1 with caller "
            f"{' or '.join(OWN_TRANSACTION)}": self.sends >= 1
            and self.messages * self.sends <= 9
            and (self.sends == 1 or self.caller in OWN_TRANSACTION),
            "retries: 0 to 3, with delivery exactly_once": self.retries == 0
            or (self.retries <= 3 and self.delivery == "exactly_once"),
            "lifetimes or expiries, not both": not (self.lifetimes and self.expiries),
            "retire or drain, not with strategy article, which has neither": not (
                self.strategy == "article" and (self.retire or self.drain)
            ),
            f"faults: {', '.join(FAULTS)}": set(self.faults) <= set(FAULTS),
        }
        wrong = [rule for rule, holds in checks.items() if not holds]
        if wrong:
            raise ValueError(f"setup: allowed are {'; '.join(wrong)}")

    def __str__(self) -> str:
        """What differs from the default, in one line."""
        plain = Setup()
        found = [
            f"{name} {getattr(self, name)}"
            for name in self.__slots__
            if getattr(self, name) != getattr(plain, name) or name == "key"
        ]
        return ", ".join(found)

    @classmethod
    def parse(cls, text: str) -> Setup:
        """A setup written as ``key=pool senders=2 faults=kill+pause switches=relaunch:x``.

        Raises ValueError naming what is wrong and what is allowed.
        """
        plain, found = cls(), cast("dict[str, Any]", {})
        for word in text.split():
            name, equals, value = word.partition("=")
            if not equals or name not in cls.__slots__:
                raise ValueError(
                    f"setup {word!r}: write name=value; the names are {', '.join(cls.__slots__)}"
                )
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
        data["conversation"] |= {
            "key": self.key,
            "recycle": self.recycle,
            "order": self.order,
            "delivery": self.delivery,
        }
        data["aged_out"] |= {"after_seconds": 0, "after_messages": 1}
        data["pool"] |= {"size": self.slots}
        data["comparison"]["lookup_hint"] = self.hint
        return Config.model_validate(data)

    @property
    def ledger(self) -> Ledger:
        """What the senders send, and what was sent before."""
        batches = {
            (number, batch): bodies
            for number in range(self.senders)
            for batch, bodies in enumerate(self._batches(number))
        }
        return Ledger(batches, PLACES, tuple(f"{letter}0" for letter in "ABCD"[: self.warm]))

    def _batches(self, number: int) -> list[tuple[str, ...]]:
        """What each batch of a sender sends; a retry is a batch of its own."""
        letter, each = "ABCD"[number], self.sends
        found = [
            tuple(f"{letter}{batch * each + n + 1}" for n in range(each))
            for batch in range(self.messages)
        ]
        return found[:1] * self.retries + found

    def scenario(self) -> Scenario:
        """What the explorer searches."""
        config, ledger = self.config, self.ledger
        subject = self.subject
        ends = self.lifetimes + self.expiries
        kinds = {"ssb.timer": self.firings, "ssb.lifetime": ends}
        one_go = frozenset() if self.target_readers else frozenset({"TargetQueue"})
        asked = {*self.always, *self.at_rest, "L3"}
        return Scenario(
            str(self),
            lambda: deployed(
                config, rcsi=self.isolation == "rcsi", first=self.first, mutant=self.mutant
            ),
            (*self._senders(), *self._others()),
            on_every_state=claims(subject, self.always),
            at_the_end=all_of(claims(subject, self.at_rest), nothing_left_behind),
            in_one_go=one_go,
            firings=self.firings + ends,
            timer_kinds=frozenset(kind for kind, times in kinds.items() if times),
            timer_limits={kind: times for kind, times in kinds.items() if times},
            faults=tuple(FAULTS[name] for name in self.faults),
            switches=self.switches,
            notes=(*((TARGET_IN_ONE_GO,) if one_go else ()), *silent(self, asked)),
            witnesses=witnesses(self, asked),
            account=ledger,
            livelock=LIVELOCK,
            asked=DATABASE,
            watched=watched,
        )

    @property
    def first(self) -> tuple[str, ...]:
        """T-SQL run after the installation, before anybody sends."""
        key = ", @key = N'k'" if self.traits.named else ""
        found = (ORDERS[0], ORDERS[1].format(key=key)) if self.caller == "trigger" else ()
        return found + (
            (f"ALTER QUEUE {TARGET_QUEUE} WITH STATUS = OFF;",) if self.lifetimes else ()
        )

    @property
    def subject(self) -> Subject:
        """What the claims are told of it."""
        traits = self.traits
        return Subject(
            self.ledger,
            frozenset(f"sender {letter}" for letter in "ABCD"[: self.senders]),
            alone=not traits.shared,
            keys=self._dialogs,
            numbered=self.order == "key",
            resends=bool(self.lifetimes or self.expiries or DIED & set(self.faults)),
            retried=bool(self.retries),
            one_dialog=not traits.per_message,
            rows=traits.has_rows and not self.foreign,
            pool=traits.slots,
            ends=not self.lifetimes and not self.foreign,
            oldest=self._oldest,
        )

    @property
    def traits(self) -> Traits:
        """What its key is like."""
        return every_key()[self.key]

    @property
    def _dialogs(self) -> int:
        """How many can be in use at one time."""
        if self.traits.per_message:
            return sum(map(len, self.ledger.batches.values())) + self.warm
        if self.traits.slots:
            return self.slots
        one = self.traits.shared and (self.shared or not self.traits.named)
        return 1 if one else self.senders

    @property
    def foreign(self) -> bool:
        """Whether its tables are not ours: the article's have no ages and no log of the ended."""
        return self.strategy == "article"

    @property
    def always(self) -> dict[str, Claim]:
        """What must hold in every state, by its name."""
        return {
            name: claim
            for name, claim in ON_EVERY_STATE.items()
            if not self.foreign or name != "S5"
        }

    @property
    def at_rest(self) -> dict[str, Claim]:
        """What must hold when nobody can go on, by its name."""
        return {
            name: claim
            for name, claim in AT_REST.items()
            if not self.foreign or name not in ("S6", "L1", "L4")
        }

    @property
    def _oldest(self) -> int:
        timer = self.config.timer
        return timer.after_seconds + timer.spread_seconds if self.recycle == "timer" else 0

    def _senders(self) -> tuple[Client, ...]:
        clients = []
        for number, letter in enumerate("ABCD"[: self.senders]):
            warm = cast(
                "tuple[str, ...]", (self._text(number, f"{letter}0"),) if number < self.warm else ()
            )
            if self.retire and not number:
                warm += IDLE
            if warm and self.overdue:
                warm += (LONG_AGO,)
            texts = tuple(self._text(number, *bodies) for bodies in self._batches(number))
            clients.append(Client(f"sender {letter}", texts, DATABASE, warm, TIDY, TIDY))
        return tuple(clients)

    def _text(self, number: int, *bodies: str) -> str:
        """One batch of a sender."""
        key = f", @key = N'{'k' if self.shared else 'ABCD'[number]}'" if self.traits.named else ""
        calls = " ".join(
            f"EXECUTE audit.usp_Send {NAMES}, 0x{body}{key}{self._id(body)};" for body in bodies
        )
        return {
            "autocommit": calls,
            "transaction": f"BEGIN TRANSACTION; {calls} COMMIT TRANSACTION;",
            "xact_abort": f"SET XACT_ABORT ON; BEGIN TRANSACTION; {calls} COMMIT TRANSACTION;",
            "trigger": f"INSERT INTO dbo.Orders (Body) VALUES (0x{bodies[0]});",
        }[self.caller]

    def _id(self, body: str) -> str:
        """The message id a sender gives who may have to send a message again."""
        return f", @messageId = '00000000-0000-0000-0000-0000000000{body}'" if self.retries else ""

    def _others(self) -> tuple[Client, ...]:
        others = [
            Client(f"reader {n}", ("EXECUTE audit.usp_SenderActivation;",), DATABASE)
            for n in range(2, self.readers + 1)
        ]
        others += [
            Client(f"target reader {n}", ("EXECUTE audit.usp_TargetActivation;",), DATABASE)
            for n in range(2, self.target_readers + 1)
        ]
        if self.retire:
            others.append(Client("job", (RETIRE,), DATABASE))
        if self.drain:
            others.append(Client("operator", (DRAIN,), DATABASE))
        return tuple(others)
