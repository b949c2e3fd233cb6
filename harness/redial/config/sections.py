"""The tables of a config file; rules between fields are in ``model``.

A field without an effect for the chosen values is not an error: the same file can be tried with
another choice. Times are in the unit of the field's name.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool

from redial.config.choices import (
    AVAILABLE,
    AfterDeadLetter,
    Compression,
    Delivery,
    EnableBroker,
    Key,
    LookupHint,
    Order,
    Processing,
    Recycle,
    Signing,
    TimerStrategy,
    Validation,
)

MAX_LIFETIME = 2_147_483_647
"""Seconds; what BEGIN DIALOG takes and assumes (BEGIN DIALOG page)."""

CLOCK_SECONDS = 60
"""How far the server's clock may be set, forward or back, within the life of a dialog."""

_Choice = TypeVar("_Choice", bound=StrEnum)


def _check_name(value: str) -> str:
    """Any sysname is allowed, quotes and brackets too; what no server takes is refused."""
    if not value.strip():
        raise ValueError("must not be empty; allowed: 1 to 128 characters")
    if utf16_length(value) > 128:
        raise ValueError(f"is {utf16_length(value)} characters long; allowed: 1 to 128")
    if any(ord(ch) < 32 or 0xD800 <= ord(ch) <= 0xDFFF for ch in value):
        raise ValueError("has a control character or half a surrogate pair; allowed: other text")
    if "$(" in value:
        raise ValueError("has $(, where sqlcmd puts a variable of its own; allowed: other text")
    if value != value.rstrip(" "):
        raise ValueError("ends with a space, which no comparison sees; allowed: none at the end")
    return value


def utf16_length(value: str) -> int:
    """Length as the server counts a sysname: UTF-16 code units."""
    return len(value) + sum(ch > "\uffff" for ch in value)


def _available(value: _Choice) -> _Choice:
    """Refuse by name a choice the model knows and no template serves yet."""
    usable = AVAILABLE[type(value)]
    if value not in usable:
        allowed = ", ".join(usable)
        raise ValueError(f"not available yet: {value.value!r}; allowed now: {allowed}")
    return value


Name = Annotated[str, AfterValidator(_check_name)]
"""A sysname: 1 to 128 UTF-16 units, quoted by rule wherever it is rendered."""


class Section(BaseModel):
    """Base of every table of the file: unknown keys are errors, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False, populate_by_name=True)


class Services(Section):
    """Names of the two services; a service name is compared byte by byte on the wire."""

    initiator: Name
    target: Name


class Queues(Section):
    """Queue names inside the schema."""

    initiator: Name = "InitiatorQueue"
    target: Name = "TargetQueue"


class Contract(Section):
    """The contract and the types of our own in it.

    end_of_stream closes a dialog.
    """

    name: Name
    end_of_stream: Name = "EndOfStream"
    landed: Name = "Landed"
    """By it the target tells the sender's database up to where it has accounted for a dialog's
    messages; used where the two are different databases."""
    previous: list[Name] = Field(default=[], max_length=10)
    """Names of earlier versions that dialogs and callers may still use."""


class MessageType(Section):
    """One message type callers may send."""

    name: Name
    validation: Annotated[Validation, AfterValidator(_available)] = Validation.NONE


class Conversation(Section):
    """Who shares a dialog, when it is replaced, what is promised of its messages."""

    key: Annotated[Key, AfterValidator(_available)] = next(iter(Key))
    recycle: Annotated[Recycle, AfterValidator(_available)] = Recycle.TIMER
    timer_strategy: Annotated[TimerStrategy, AfterValidator(_available)] = TimerStrategy.TWO_PHASE
    order: Annotated[Order, AfterValidator(_available)] = Order.CONVERSATION
    delivery: Annotated[Delivery, AfterValidator(_available)] = Delivery.AT_LEAST_ONCE
    encryption: StrictBool = False
    lifetime_seconds: int = Field(default=MAX_LIFETIME, ge=2, le=MAX_LIFETIME)
    """After so long the broker ends a dialog by itself, with an error."""
    longest_transaction_seconds: int = Field(default=3600, ge=1, le=2_592_000)
    """How long a transaction of a caller's may stay open after it has sent; with it the lifetime is
    checked, and a dialog is replaced before its end."""


class Timer(Section):
    """Age, spread and retry of recycling, in seconds."""

    after_seconds: int = Field(default=3600, ge=1, le=MAX_LIFETIME)
    spread_seconds: int = Field(default=0, ge=0, le=65_535)
    retry_seconds: int = Field(default=30, ge=1, le=86_400)


class AgedOut(Section):
    """When a send replaces its dialog, and when the retire job does; 0 stands for no such limit."""

    after_seconds: int = Field(default=3600, ge=0, le=MAX_LIFETIME)
    after_messages: int = Field(default=0, ge=0, le=2**62)
    spread_seconds: int = Field(default=0, ge=0, le=65_535)
    spread_messages: int = Field(default=0, ge=0, le=65_535)
    idle_seconds: int = Field(default=3600, ge=0, le=MAX_LIFETIME)


class Pool(Section):
    """Rows of a pool, and how long a sender waits when all are busy."""

    size: int = Field(default=16, ge=1, le=9_999)
    wait_ms: int = Field(default=5_000, ge=0, le=600_000)


class Envelope(Section):
    """What travels in front of each body."""

    who: StrictBool = False
    """Each message carries login, program and host of its caller and the time."""


class ExactlyOnce(Section):
    """How long the target remembers a message id."""

    keep_days: int = Field(default=7, ge=1, le=3_650)


class Readers(Section):
    """Activation of a queue."""

    readers: int = Field(default=1, ge=1, le=32_767)

    @property
    def poison_handling(self) -> str:
        """POISON_MESSAGE_HANDLING of the queue. OFF where readers that a full disk meets together
        could roll back five times in a row (F-488)."""
        return "ON" if self.readers < 5 else "OFF"


class Initiator(Readers):
    """Activation of the initiator's queue."""


class Target(Readers):
    """Activation of the target's queue, and what becomes of a message (docs/hook.md).

    With up to four readers, and readers * poison.limit above 4, that doomed rows never switch the
    queue off rests on F-162.
    """

    receive_batch: int = Field(default=500, ge=1, le=100_000)
    receive_wait_ms: int = Field(default=1000, ge=0, le=600_000)
    processing: Annotated[Processing, AfterValidator(_available)] = Processing.LAND
    hook: Name = "usp_ProcessMessage"
    database: Name | None = None


class Landing(Section):
    """How what arrived is stored (decision 7)."""

    order_index: StrictBool = False
    """An index by dialog and number, or by key and its number with order = key."""
    compression: Annotated[Compression, AfterValidator(_available)] = Compression.AS_IS
    """DATA_COMPRESSION of the table and its index; bodies outside of their row are never compressed
    (page Data compression)."""
    filegroup: Name | None = None
    """Where a new table is made; one that exists stays where it is. None: the database's default."""


class Poison(Section):
    """Rollbacks one queue row may cause; the broker switches the queue off at five."""

    limit: int = Field(default=1, ge=1, le=4)
    slow_after: int = Field(default=100, ge=0, le=1_000_000)
    """Dead letters in a row after which a conversation is slowed; 0 stands for never."""
    after_dead_letter: AfterDeadLetter = AfterDeadLetter.GO_ON


class Retention(Section):
    """Days that landed rows, log rows and handled dead letters are kept; 0 stands for ever."""

    landing_days: int = Field(default=0, ge=0, le=36_500)
    log_days: int = Field(default=0, ge=0, le=36_500)
    dead_letter_days: int = Field(default=0, ge=0, le=36_500)


class Priority(Section):
    """Level of the conversations; 5 is what they have without any (CREATE BROKER PRIORITY page)."""

    level: int = Field(default=5, ge=1, le=10)


class Operations(Section):
    """What runs beside the queues, and how much of it at a time."""

    agent_job: StrictBool = False
    """Also render SQL Server Agent jobs."""
    retire_minutes: int = Field(default=15, ge=1, le=1_440)
    """How often idle conversations retire; without rows to retire, a job of every 5 minutes runs
    usp_ResendStranded."""
    resend_limit: int = Field(default=100_000, ge=1, le=2_000_000_000)
    """With more pending on a dialog that has failed, activation leaves the resend, which is one
    transaction, to an operator (docs/facts.md, F-373)."""
    health_minutes: int = Field(default=15, ge=0, le=1_440)
    """With agent_job: how often a job runs usp_CheckHealth, which fails when something is wrong; 0:
    never."""
    alert_operator: str = Field(default="", max_length=128)
    """With agent_job: the SQL Server Agent operator who gets a mail when a job fails, the health check
    above all (page sp_update_job, @notify_email_operator_name); empty: nobody."""
    notify_queue_off: StrictBool = False
    """An event notification for BROKER_QUEUE_DISABLED on each queue, and what writes it into
    ErrorLog."""
    alert_queue_off: StrictBool = False
    """An Agent alert that starts the health job when the server switches a queue off (F-489)."""


class Security(Section):
    """How rights are given, beyond ownership."""

    signing: Annotated[Signing, AfterValidator(_available)] = Signing.NONE


class Database(Section):
    """What a deployment may do to the database itself."""

    enable_broker: Annotated[EnableBroker, AfterValidator(_available)] = EnableBroker.NO_WAIT


class Modules(Section):
    """What is installed beside the core: a folder of ``sql/templates`` each."""

    bulk: StrictBool = True
    """usp_SendBatch, and INSERT into the view Outbox."""
    pieces: StrictBool = False
    """Writing a partition that may be run again, as Spark does: usp_BeginPartition."""
    monitor: StrictBool = True
    """usp_Health and the views."""
    operate: StrictBool = True
    """Drain, resend, replay, retire: what an operator calls."""
    retention: StrictBool | None = None
    """The purges. Left out: where something is kept for a number of days."""
    upgrade: StrictBool = True
    """A change of choices drains what is open by itself, and each attempt is written down."""


class Comparison(Section):
    """Known-bad values, for the answer matrix only: never in a shipped configuration."""

    lookup_hint: Annotated[LookupHint, AfterValidator(_available)] = LookupHint.UPDLOCK


class Roles(Section):
    """Principals of the configuration."""

    module: Name
    module_is_db_owner: StrictBool = False
    """Whoever may ALTER a procedure that runs as this user would then be db_owner (decision 8)."""
    sender: Name
    operator: Name
    reader: Name
