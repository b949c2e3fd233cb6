"""The typed model. Field rules sit on the fields; rules between fields in ``Config``."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from harness.config.choices import (
    AVAILABLE,
    Delivery,
    Key,
    Order,
    Recycle,
    TimerStrategy,
    Validation,
)

MAX_LIFETIME = 2_147_483_647
"""Seconds; what BEGIN DIALOG takes and assumes (BEGIN DIALOG page)."""

RESERVED_NAMES = ("ANY", "DEFAULT")
"""Wildcards or built-ins where a service or contract is named (CREATE BROKER PRIORITY page)."""

FIXED_OBJECTS = frozenset(
    {
        "SessionConversations", "ConversationLog", "Landing", "DeadLetter", "ErrorLog",
        "PoisonAttempt", "OwnedObject", "DeploymentHistory", "usp_Send",
    }
)  # fmt: skip
"""Names of the schema that templates use; a queue cannot take one."""

_Choice = TypeVar("_Choice", bound=StrEnum)


def _check_name(value: str) -> str:
    """Any sysname is allowed, quotes and brackets too; what no server takes is refused."""
    if not value.strip():
        raise ValueError("must not be empty; allowed: 1 to 128 characters")
    if utf16_length(value) > 128:
        raise ValueError(f"is {utf16_length(value)} characters long; allowed: 1 to 128")
    if any(ord(ch) < 32 or 0xD800 <= ord(ch) <= 0xDFFF for ch in value):
        raise ValueError("has a control character or half a surrogate pair; allowed: other text")
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


class _Section(BaseModel):
    """Base of every table of the file: unknown keys are errors, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False, populate_by_name=True)


class Services(_Section):
    """Names of the two services; a service name is compared byte by byte on the wire."""

    initiator: Name
    target: Name


class Queues(_Section):
    """Queue names inside the schema."""

    initiator: Name = "InitiatorQueue"
    target: Name = "TargetQueue"


class Contract(_Section):
    """The contract and the type that closes a dialog."""

    name: Name
    end_of_stream: Name = "EndOfStream"


class MessageType(_Section):
    """One message type callers may send."""

    name: Name
    validation: Annotated[Validation, AfterValidator(_available)] = Validation.NONE


class Conversation(_Section):
    """The choices of design 3.1."""

    key: Annotated[Key, AfterValidator(_available)] = Key.SPID
    recycle: Annotated[Recycle, AfterValidator(_available)] = Recycle.TIMER
    timer_strategy: Annotated[TimerStrategy, AfterValidator(_available)] = TimerStrategy.TWO_PHASE
    order: Annotated[Order, AfterValidator(_available)] = Order.CONVERSATION
    delivery: Annotated[Delivery, AfterValidator(_available)] = Delivery.AT_LEAST_ONCE
    encryption: bool = False
    lifetime_seconds: int = Field(default=MAX_LIFETIME, ge=2, le=MAX_LIFETIME)


class Timer(_Section):
    """Age, spread and retry of recycling, in seconds."""

    after_seconds: int = Field(default=3600, ge=1, le=MAX_LIFETIME)
    spread_seconds: int = Field(default=0, ge=0, le=65_535)
    retry_seconds: int = Field(default=30, ge=1, le=86_400)


class Initiator(_Section):
    """Activation of the initiator's queue."""

    readers: int = Field(default=1, ge=1, le=32_767)


class Target(_Section):
    """Activation of the target's queue."""

    readers: int = Field(default=1, ge=1, le=32_767)
    receive_batch: int = Field(default=500, ge=1, le=100_000)
    receive_wait_ms: int = Field(default=1000, ge=0, le=600_000)


class Poison(_Section):
    """Rollbacks one queue row may cause; the broker switches the queue off at five."""

    limit: int = Field(default=1, ge=1, le=4)


class Roles(_Section):
    """Principals of the configuration."""

    module: Name
    module_is_db_owner: bool = True
    sender: Name
    operator: Name
    reader: Name


class Config(_Section):
    """One initiator/target service pair and contract: one file of ``sql/configs``."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")
    schema_name: Name = Field(alias="schema")
    config_id: int = Field(default=1, ge=1, le=2_147_483_647)
    services: Services
    queues: Queues = Queues()
    contract: Contract
    message_types: list[MessageType] = Field(min_length=1, max_length=100)
    conversation: Conversation = Conversation()
    timer: Timer = Timer()
    initiator: Initiator = Initiator()
    target: Target = Target()
    poison: Poison = Poison()
    roles: Roles

    @property
    def all_message_types(self) -> tuple[MessageType, ...]:
        """The callers' types and EndOfStream, which never has a body."""
        closing = MessageType(name=self.contract.end_of_stream, validation=Validation.EMPTY)
        return (*self.message_types, closing)

    @model_validator(mode="after")
    def _rules_between_fields(self) -> Config:
        """Collect every broken rule, then raise once."""
        problems = [*self._timer_problems(), *self._name_problems()]
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def _timer_problems(self) -> list[str]:
        """8410 refuses a timer beyond the lifetime (service-broker-semantics, 6)."""
        longest = self.timer.after_seconds + self.timer.spread_seconds + self.timer.retry_seconds
        if self.conversation.lifetime_seconds > longest:
            return []
        return [
            "conversation.lifetime_seconds: must exceed timer.after_seconds + spread_seconds + "
            f"retry_seconds; allowed: more than {longest}"
        ]

    def _name_problems(self) -> list[str]:
        """Names that would collide, whatever the case rules of the database."""
        problems = []
        for where, name in (
            ("services.initiator", self.services.initiator),
            ("services.target", self.services.target),
            ("contract.name", self.contract.name),
        ):
            if name.upper() in RESERVED_NAMES:
                problems.append(f"{where}: {name!r} has a meaning of its own; allowed: other names")
        problems += _same("services.target", "services.initiator", self.services)
        problems += _same("queues.target", "queues.initiator", self.queues)
        for where in ("initiator", "target"):
            if getattr(self.queues, where).casefold() in {n.casefold() for n in FIXED_OBJECTS}:
                problems.append(f"queues.{where}: is the name of another object; allowed: others")
        types = [t.name.casefold() for t in self.message_types]
        if len(set(types)) < len(types):
            problems.append("message_types: a name is listed twice; allowed: each name once")
        if self.contract.end_of_stream.casefold() in types:
            problems.append(
                "contract.end_of_stream: is also in message_types, so a caller could close the "
                "dialog under the others; allowed: a name callers cannot send"
            )
        roles = [self.roles.module, self.roles.sender, self.roles.operator, self.roles.reader]
        if len({r.casefold() for r in roles}) < len(roles):
            problems.append("roles: two principals have one name; allowed: four different names")
        return problems


def _same(later: str, earlier: str, pair: Services | Queues) -> list[str]:
    """One problem line when both names of a pair are equal but for case."""
    if pair.target.casefold() != pair.initiator.casefold():
        return []
    return [f"{later}: equals {earlier}; allowed: a different name"]
