"""The typed model: a config file, and the rules between its tables."""

from __future__ import annotations

import uuid

from pydantic import Field, model_validator

from redial.config.choices import (
    CORE,
    AfterDeadLetter,
    Delivery,
    LookupHint,
    Order,
    Recycle,
    Signing,
    TimerStrategy,
    Validation,
)
from redial.config.keys import Traits, every_key, keys_with
from redial.config.objects import object_names
from redial.config.sections import (
    CLOCK_SECONDS,
    MAX_LIFETIME,
    AgedOut,
    Comparison,
    Contract,
    Conversation,
    Database,
    Envelope,
    ExactlyOnce,
    Initiator,
    Landing,
    MessageType,
    Modules,
    Name,
    Operations,
    Poison,
    Pool,
    Priority,
    Queues,
    Retention,
    Roles,
    Section,
    Security,
    Services,
    Target,
    Timer,
)

RESERVED_NAMES = ("ANY", "DEFAULT")
"""Wildcards or built-ins where a service or contract is named (CREATE BROKER PRIORITY page)."""

OF_THE_SERVER = ("sys", "INFORMATION_SCHEMA")
"""Schemas in which nobody makes anything (2760)."""
OF_EVERY_DATABASE = (
    *("public", "dbo", "guest", *OF_THE_SERVER, "db_owner", "db_accessadmin", "db_securityadmin"),
    *("db_ddladmin", "db_backupoperator", "db_datareader", "db_datawriter"),
    *("db_denydatareader", "db_denydatawriter"),
)
"""Principals that are there already, with members and rights that are not ours to give."""


class Config(Section):
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
    aged_out: AgedOut = AgedOut()
    pool: Pool = Pool()
    envelope: Envelope = Envelope()
    exactly_once: ExactlyOnce = ExactlyOnce()
    initiator: Initiator = Initiator()
    target: Target = Target()
    landing: Landing = Landing()
    poison: Poison = Poison()
    retention: Retention = Retention()
    priority: Priority = Priority()
    operations: Operations = Operations()
    security: Security = Security()
    database: Database = Database()
    modules: Modules = Modules()
    comparison: Comparison = Comparison()
    roles: Roles

    @property
    def sent_types(self) -> tuple[MessageType, ...]:
        """What the sender's side sends: the callers' types and EndOfStream, which has no body."""
        closing = MessageType(name=self.contract.end_of_stream, validation=Validation.EMPTY)
        return (*self.message_types, closing)

    @property
    def answered_types(self) -> tuple[MessageType, ...]:
        """What the target sends: in one database nothing."""
        return (MessageType(name=self.contract.landed),) if self.target.database else ()

    @property
    def all_message_types(self) -> tuple[MessageType, ...]:
        """Every type of the contract."""
        return (*self.sent_types, *self.answered_types)

    @property
    def expires(self) -> bool:
        """Whether a dialog can come to the end of its lifetime while anybody is there to see it."""
        return self.conversation.lifetime_seconds < MAX_LIFETIME

    @property
    def margin_seconds(self) -> int:
        """A dialog with less of its lifetime left is not sent on (docs/facts.md, F-465)."""
        longest = self.conversation.longest_transaction_seconds
        return longest + self.timer.retry_seconds + CLOCK_SECONDS

    @property
    def enveloped(self) -> bool:
        """Whether a message carries a header of ours before its body (docs/facts.md, F-146)."""
        return (
            self.envelope.who
            or self.conversation.order == Order.KEY
            or self.conversation.delivery == Delivery.EXACTLY_ONCE
        )

    @property
    def sessions_procedure(self) -> str:
        """The procedure of dbo that blocking.sql makes, and its certificate."""
        return f"redial_{self.name}_sessions"

    @property
    def carries_key(self) -> bool:
        """Whether the header of a message holds its key."""
        return self.enveloped and (self.traits.named or self.conversation.order == Order.KEY)

    @property
    def sees_transmission(self) -> bool:
        """Whether something of ours reads sys.transmission_queue, which is db_owner's (F-113)."""
        return self.roles.module_is_db_owner or self.security.signing == Signing.CERTIFICATE

    @property
    def keeps_for_days(self) -> bool:
        """Whether something goes after a number of days, so that somebody must purge it."""
        kept = self.retention
        exactly_once = self.conversation.delivery == Delivery.EXACTLY_ONCE
        return bool(kept.landing_days or kept.log_days or kept.dead_letter_days) or exactly_once

    @property
    def installed_modules(self) -> tuple[str, ...]:
        """The core and the modules chosen, in the order they are installed."""
        retention = self.modules.retention
        chosen = {name: bool(on) for name, on in self.modules}
        chosen["retention"] = self.keeps_for_days if retention is None else retention
        return (CORE, *(name for name, on in chosen.items() if on))

    @property
    def traits(self) -> Traits:
        """What the key is like: who shares a dialog, and how it is found."""
        return every_key()[self.conversation.key]

    @property
    def in_one_transaction(self) -> bool:
        """Whether the timer's row is asked for while RECEIVE holds the conversation group: the
        comparison strategies that are not the article's own scripts."""
        return self.conversation.timer_strategy in (
            TimerStrategy.LOCK_TIMEOUT,
            TimerStrategy.LOCK_TIMEOUT_REARM,
            TimerStrategy.LOW_PRIORITY,
        )

    @property
    def comparison_only(self) -> list[str]:
        """The choices that exist for comparison and must not be deployed for work."""
        found = []
        if self.conversation.timer_strategy != TimerStrategy.TWO_PHASE:
            found.append(f"timer_strategy = {self.conversation.timer_strategy.value}")
        if self.comparison.lookup_hint != LookupHint.UPDLOCK:
            found.append(f"lookup_hint = {self.comparison.lookup_hint.value}")
        return found

    @property
    def single_group(self) -> str:
        """Conversation group of the everlasting dialog (key = single): fixed by the names."""
        names = "\0".join((self.schema_name, self.services.initiator, self.services.target))
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"redial:{names}")).upper()

    @model_validator(mode="after")
    def _rules_between_fields(self) -> Config:
        """Collect every broken rule, then raise once."""
        problems = [
            *self._choice_problems(),
            *self._module_problems(),
            *self._age_problems(),
            *self._name_problems(),
        ]
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def _choice_problems(self) -> list[str]:
        """Choices that exclude each other (origins: choices)."""
        problems = []
        chosen, traits = self.conversation, self.traits
        one_key = f"key = {' or '.join(keys_with('row_of_one_key'))}"
        if not traits.has_rows and chosen.recycle != Recycle.NEVER:
            problems.append(
                f"conversation.recycle: with key = {chosen.key.value} no row leads to a dialog "
                "that could be replaced; allowed: never"
            )
        if chosen.order == Order.KEY and not traits.row_of_one_key:
            problems.append(
                f"conversation.order: with key = {chosen.key.value} no row belongs to one key, so "
                f"none can be numbered; allowed: conversation, or {one_key}"
            )
        if self.poison.after_dead_letter == AfterDeadLetter.WAIT and chosen.order != Order.KEY:
            problems.append(
                "poison.after_dead_letter: without numbers nobody knows which messages come later; "
                "allowed: go_on, or conversation.order = key"
            )
        if chosen.timer_strategy != TimerStrategy.TWO_PHASE and chosen.recycle != Recycle.TIMER:
            problems.append(
                "conversation.timer_strategy: has no meaning without a timer; allowed: two_phase, "
                "or recycle = timer"
            )
        if chosen.timer_strategy == TimerStrategy.ARTICLE and (
            not traits.article or self.enveloped
        ):
            problems.append(
                "conversation.timer_strategy: article stands for the article's own scripts; "
                f"allowed: key = {' or '.join(keys_with('article'))}, order = conversation, "
                "at_least_once, no envelope"
            )
        if self.comparison.lookup_hint != LookupHint.UPDLOCK and not traits.row_of_one_key:
            problems.append(
                "comparison.lookup_hint: only a row of one key is looked up; allowed: updlock, or "
                f"{one_key}"
            )
        if self.enveloped and any(t.validation != Validation.NONE for t in self.message_types):
            problems.append(
                "message_types.validation: order = key, exactly_once and the envelope put a header "
                "before the body; allowed: none"
            )
        alarm = self.operations
        if alarm.alert_queue_off and not (alarm.agent_job and alarm.health_minutes):
            problems.append(
                "operations.alert_queue_off: the alert starts the health job; allowed: false, or "
                "agent_job = true with health_minutes of 1 to 1440"
            )
        return problems

    def _module_problems(self) -> list[str]:
        """Modules that need another, and choices that need a module."""
        problems = []
        chosen = self.modules
        if chosen.operate and not chosen.monitor:
            problems.append(
                "modules.operate: its procedures read what monitor shows; allowed: false, or "
                "monitor = true"
            )
        if chosen.retention is False and self.keeps_for_days:
            problems.append(
                "modules.retention: [retention] or exactly_once says how many days something is "
                "kept, and nothing would purge it; allowed: true, or 0 days and at_least_once"
            )
        if not chosen.monitor:
            wanted = {
                "security.signing": (self.security.signing == Signing.CERTIFICATE, "none"),
                "operations.notify_queue_off": (self.operations.notify_queue_off, "false"),
                "operations.alert_queue_off": (self.operations.alert_queue_off, "false"),
            }
            problems += [
                f"{where}: is part of the module monitor; allowed: {allowed}, or modules.monitor = true"
                for where, (asked, allowed) in wanted.items()
                if asked
            ]
        return problems

    def _age_problems(self) -> list[str]:
        """A dialog must be replaced, and its last transaction over, before its lifetime ends
        (docs/facts.md, F-465)."""
        chosen, aged = self.conversation, self.aged_out
        counts = aged.after_seconds or aged.after_messages
        if chosen.recycle == Recycle.AGED_OUT and not counts:
            return ["aged_out: one of after_seconds and after_messages must be above 0"]
        if not self.expires:
            return []
        age, formula = 0, ""
        if chosen.recycle == Recycle.TIMER:
            age = self.timer.after_seconds + self.timer.spread_seconds
            formula = "timer.after_seconds + timer.spread_seconds + "
        elif chosen.recycle == Recycle.AGED_OUT and aged.after_seconds:
            age = aged.after_seconds + aged.spread_seconds
            formula = "aged_out.after_seconds + aged_out.spread_seconds + "
        if chosen.lifetime_seconds <= age + self.margin_seconds:
            return [
                f"conversation.lifetime_seconds: must exceed {formula}"
                "conversation.longest_transaction_seconds + timer.retry_seconds + "
                f"{CLOCK_SECONDS} (the clock), so that no dialog ends under a caller's open "
                f"transaction; allowed: more than {age + self.margin_seconds}"
            ]
        return []

    def _name_problems(self) -> list[str]:
        """Names that would collide, whatever the case rules of the database."""
        problems = []
        if _among(self.schema_name, OF_THE_SERVER):
            problems.append(
                f"schema: {self.schema_name!r} is the server's own, and nobody makes anything in it; "
                f"allowed: another name, such as {self.name!r}"
            )
        problems += [
            f"roles.{where}: {name!r} is in every database, with rights that are not ours to give; "
            f"allowed: a name of its own, such as '{self.name}_{where}'"
            for where in ("module", "sender", "operator", "reader")
            if _among(name := getattr(self.roles, where), OF_EVERY_DATABASE)
        ]
        for where, name in (
            ("services.initiator", self.services.initiator),
            ("services.target", self.services.target),
            ("contract.name", self.contract.name),
            *(("contract.previous", name) for name in self.contract.previous),
        ):
            if name.upper() in RESERVED_NAMES:
                problems.append(f"{where}: {name!r} has a meaning of its own; allowed: other names")
        problems += _same("services.target", "services.initiator", self.services)
        problems += _same("queues.target", "queues.initiator", self.queues)
        ours = {name.casefold() for name in object_names()}
        for where in ("initiator", "target"):
            if getattr(self.queues, where).casefold() in ours:
                problems.append(f"queues.{where}: is the name of another object; allowed: others")
        taken = ours | {self.queues.initiator.casefold(), self.queues.target.casefold()}
        if self.target.hook.casefold() in taken:
            problems.append("target.hook: is the name of another object; allowed: others")
        contracts = [n.casefold() for n in (self.contract.name, *self.contract.previous)]
        if len(set(contracts)) < len(contracts):
            problems.append("contract.previous: a name is listed twice; allowed: each name once")
        types = [t.name.casefold() for t in self.message_types]
        if len(set(types)) < len(types):
            problems.append("message_types: a name is listed twice; allowed: each name once")
        for where in ("end_of_stream", "landed"):
            if getattr(self.contract, where).casefold() in types:
                problems.append(
                    f"contract.{where}: is also in message_types, so a caller could send what only "
                    "our procedures may; allowed: a name callers cannot send"
                )
        if self.contract.end_of_stream.casefold() == self.contract.landed.casefold():
            problems.append("contract.landed: equals contract.end_of_stream; allowed: another name")
        roles = [self.roles.module, self.roles.sender, self.roles.operator, self.roles.reader]
        if len({r.casefold() for r in roles}) < len(roles):
            problems.append("roles: two principals have one name; allowed: four different names")
        return problems


def _among(name: str, names: tuple[str, ...]) -> bool:
    """Whatever the case rules of the database."""
    return name.casefold() in {one.casefold() for one in names}


def _same(later: str, earlier: str, pair: Services | Queues) -> list[str]:
    """One problem line when both names of a pair are equal but for case."""
    if pair.target.casefold() != pair.initiator.casefold():
        return []
    return [f"{later}: equals {earlier}; allowed: a different name"]
