"""The choices a config makes (origins: choices), and which of them can be rendered today."""

from __future__ import annotations

from enum import StrEnum

from redial.config.keys import every_key


class Key(StrEnum):
    """Who shares a dialog: the words of ``sql/templates/keys``, which say what each is like."""

    _ignore_ = ["word"]
    for word in every_key():
        vars()[word.upper()] = word


class Recycle(StrEnum):
    """When a dialog is replaced."""

    NEVER = "never"
    TIMER = "timer"
    AGED_OUT = "aged_out"


class TimerStrategy(StrEnum):
    """How the timer's procedure gets at the row; all but ``two_phase`` are for comparison only."""

    TWO_PHASE = "two_phase"
    ARTICLE = "article"
    LOCK_TIMEOUT = "lock_timeout"
    LOCK_TIMEOUT_REARM = "lock_timeout_rearm"
    LOW_PRIORITY = "low_priority"


class LookupHint(StrEnum):
    """How ``usp_Send`` looks its row up; all but ``updlock`` are for comparison only."""

    UPDLOCK = "updlock"
    HOLDLOCK = "holdlock"
    NONE = "none"


class Order(StrEnum):
    """What order the target can restore."""

    CONVERSATION = "conversation"
    KEY = "key"


class Delivery(StrEnum):
    """What a resend may do to the target."""

    AT_LEAST_ONCE = "at_least_once"
    EXACTLY_ONCE = "exactly_once"


class Processing(StrEnum):
    """What the target does with a message."""

    LAND = "land"
    HOOK = "hook"


class AfterDeadLetter(StrEnum):
    """What the later messages of a key do at the target behind one that became a dead letter."""

    GO_ON = "go_on"
    WAIT = "wait"


class Compression(StrEnum):
    """How pages of a table are kept; as_is leaves what is there, and makes a new one without."""

    AS_IS = "as_is"
    NONE = "none"
    ROW = "row"
    PAGE = "page"


class Signing(StrEnum):
    """How the procedures that end conversations come by the right to see what is pending."""

    NONE = "none"
    CERTIFICATE = "certificate"


class EnableBroker(StrEnum):
    """What deployment does where Service Broker is off, which takes the database for itself."""

    NO_WAIT = "no_wait"
    IMMEDIATE = "immediate"
    WAIT = "wait"
    NEVER = "never"


class Validation(StrEnum):
    """VALIDATION clause of a message type (CREATE MESSAGE TYPE page)."""

    NONE = "none"
    EMPTY = "empty"
    WELL_FORMED_XML = "well_formed_xml"

    @property
    def sql(self) -> str:
        """The clause's keyword."""
        return self.value.upper()


CORE = "core"
"""The module that every configuration installs; those of choice are the fields of ``Modules``."""

AVAILABLE: dict[type[StrEnum], tuple[StrEnum, ...]] = {
    kind: tuple(kind) for kind in StrEnum.__subclasses__() if kind.__module__ == __name__
}
"""What templates exist for; a modelled value outside is refused by name, never ignored."""
