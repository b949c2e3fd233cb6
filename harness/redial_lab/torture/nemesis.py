"""The nemesis: what it does to sessions, dialogs, queues and the database, and never politely.

A kind strikes a session (``strike``) or is what an operator's session runs (``script``): batches,
one after the other, each interleaved with everybody else's statements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from redial.config import Config
from redial.render.quoting import literal, quote_name
from redial_lab.end_conversation import WITH_CLEANUP, with_error

KILL, CANCEL = "kill", "cancel"
SENDER, READER, OPERATOR = "sender", "reader", "operator"

Step = str | float
"""A batch, or seconds to wait before the next one."""


@dataclass(frozen=True)
class Place:
    """What a script may name."""

    config: Config
    pick: int
    """A number to choose by."""
    files: tuple[str, ...]
    """Of the installation."""

    def own(self, name: str) -> str:
        """A name of the configuration's schema."""
        return f"{quote_name(self.config.schema_name)}.{quote_name(name)}"

    def installed(self, name: str) -> bool:
        """Whether there is a procedure of that name on the sender's side."""
        return any(f"_{name}.procedure" in file for file in self.files)


@dataclass(frozen=True)
class Kind:
    """A kind of trouble; heavier ones are drawn more often."""

    weight: int
    strike: tuple[str, str] | None = None
    """(what, whom)."""
    script: Callable[[Place], list[Step]] | None = None
    """Batches."""
    target: bool = False
    """Run in the target's database."""
    redeploy: str = ""
    """The operator then installs, '' for nothing, 'same' or 'changed' choices."""


def ends(initiator: bool, how: str = "") -> Callable[[Place], list[Step]]:
    """END CONVERSATION of one of the open dialogs, whatever is on its way."""

    def script(place: Place) -> list[Step]:
        services = place.config.services
        service = literal(services.initiator if initiator else services.target)
        return [
            "DECLARE @h uniqueidentifier; WITH d AS (SELECT ce.conversation_handle AS Handle, "
            "ROW_NUMBER() OVER (ORDER BY ce.conversation_handle) AS Place, COUNT(*) OVER () AS "
            "Open_ FROM sys.conversation_endpoints AS ce WITH (NOLOCK) INNER JOIN sys.services AS "
            f"s ON s.service_id = ce.service_id WHERE s.name = {service} AND ce.state IN ('CO', "
            "'SO')) SELECT @h = d.Handle FROM d "
            f"WHERE d.Place = {place.pick} % d.Open_ + 1; "
            f"IF @h IS NOT NULL END CONVERSATION @h{how}; SELECT @h;"
        ]

    return script


def queue(side: str, off: str, on: str) -> Callable[[Place], list[Step]]:
    """ALTER QUEUE, and some seconds later back again."""

    def script(place: Place) -> list[Step]:
        name = place.own(getattr(place.config.queues, side))
        return [
            f"ALTER QUEUE {name} WITH {off};",
            float(place.pick % 40),
            f"ALTER QUEUE {name} WITH {on};",
        ]

    return script


def calls(name: str, arguments: str = "", then: str = "") -> Callable[[Place], list[Step]]:
    """An operator's procedure, where it is installed."""

    def script(place: Place) -> list[Step]:
        if not place.installed(name):
            return []
        steps: list[Step] = [f"EXECUTE {place.own(name)} {arguments};"]
        return [*steps, f"EXECUTE {place.own(then)} @reason = N'it is over';"] if then else steps

    return script


def _replay(place: Place) -> list[Step]:
    if not place.installed("usp_ReplayDeadLetter"):
        return []
    return [
        "DECLARE @id bigint = (SELECT MAX(DeadLetterId) FROM "
        f"{place.own('vw_DeadLetters')} WHERE HandledUtc IS NULL); IF @id IS NOT NULL EXECUTE "
        f"{place.own('usp_ReplayDeadLetter')} @deadLetterId = @id, @reason = N'again', "
        "@WhatIf = 0;"
    ]


def _broker_off(place: Place) -> list[Step]:
    """All sessions of the database are cut off, as a restart would."""
    return [
        "ALTER DATABASE CURRENT SET DISABLE_BROKER WITH ROLLBACK IMMEDIATE;",
        float(place.pick % 10),
        "ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;",
    ]


def _new_broker(place: Place) -> list[Step]:
    """Every conversation of the database is removed, and nobody is told. Routes to it name the
    broker's old identity: it is deployed again."""
    return ["ALTER DATABASE CURRENT SET NEW_BROKER WITH ROLLBACK IMMEDIATE;"]


WITH_ERROR = with_error("by hand")
STATUS = ("STATUS = OFF", "STATUS = ON")
ACTIVATION = ("ACTIVATION (STATUS = OFF)", "ACTIVATION (STATUS = ON)")

KINDS: dict[str, Kind] = {
    "kill sender": Kind(12, strike=(KILL, SENDER)),
    "kill reader": Kind(8, strike=(KILL, READER)),
    "kill operator": Kind(4, strike=(KILL, OPERATOR)),
    "cancel": Kind(10, strike=(CANCEL, SENDER)),
    "target ends": Kind(8, script=ends(False), target=True),
    "target ends with error": Kind(8, script=ends(False, WITH_ERROR), target=True),
    "target ends with cleanup": Kind(5, script=ends(False, WITH_CLEANUP), target=True),
    "initiator ends": Kind(6, script=ends(True)),
    "initiator ends with error": Kind(6, script=ends(True, WITH_ERROR)),
    "initiator ends with cleanup": Kind(5, script=ends(True, WITH_CLEANUP)),
    "target queue off": Kind(4, script=queue("target", *STATUS), target=True),
    "initiator queue off": Kind(4, script=queue("initiator", *STATUS)),
    "target activation off": Kind(3, script=queue("target", *ACTIVATION), target=True),
    "initiator activation off": Kind(3, script=queue("initiator", *ACTIVATION)),
    "broker off": Kind(2, script=_broker_off),
    "new broker": Kind(1, script=_new_broker, redeploy="same"),
    "drain": Kind(
        2,
        script=calls(
            "usp_Drain", "@reason = N'torture', @waitSeconds = 20, @WhatIf = 0", then="usp_OpenGate"
        ),
    ),
    "retire": Kind(3, script=calls("usp_RetireIdle", "@olderThanSeconds = 5, @WhatIf = 0")),
    "end leaked": Kind(4, script=calls("usp_EndLeaked", "@reason = N'torture', @WhatIf = 0")),
    "resend stranded": Kind(5, script=calls("usp_ResendStranded", "@olderThanSeconds = 0")),
    "purge": Kind(
        2,
        script=lambda place: [
            *calls("usp_PurgeLogs", "@WhatIf = 0")(place),
            *calls("usp_PurgePoison", "@WhatIf = 0")(place),
            *calls("usp_PurgeSendLedger", "@WhatIf = 0")(place),
            *calls("usp_PurgeDeadLetter", "@olderThanDays = 1, @reason = N'old', @WhatIf = 0")(
                place
            ),
        ],
    ),
    "replay": Kind(3, script=_replay),
    "health": Kind(1, script=calls("usp_Health")),
    "redeploy": Kind(1, redeploy="same"),
    "redeploy changed": Kind(1, redeploy="changed"),
}
"""Every kind, by name. weight: how often it is drawn."""
