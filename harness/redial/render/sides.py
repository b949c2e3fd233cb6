"""The two sides of a configuration, where sender and target live in databases of their own.

With ``[target].database`` the files of the sender's database are in ``sql/generated/<name>``, those
of the target's in its folder ``target``; without it one database is both sides.
"""

from __future__ import annotations

from dataclasses import dataclass

from redial.config import Config

AREAS = {
    "72_send": "initiator",
    "74_initiator": "initiator",
    "75_hook": "target",
    "76_pool": "initiator",
    "77_target": "target",
}
"""Template directories whose every object belongs to one side. The tables are the same on both, so
that whatever is installed finds what it names; other templates ask ``here`` in their first line."""

OBJECTS = {
    **dict.fromkeys(("usp_OpenGate", "usp_CloseGate", "usp_ReopenGate", "usp_Drain"), "initiator"),
    **dict.fromkeys(("usp_CloseDialogs", "usp_Resend", "usp_RetireIdle"), "initiator"),
    "usp_PurgeSendLedger": "initiator",
    **dict.fromkeys(("usp_AcknowledgeLanding", "usp_PurgeLanding", "usp_PurgeInbox"), "target"),
}
"""Procedures of one side in directories that have both."""


@dataclass(frozen=True)
class Side:
    """What a database holds: ``here`` in templates."""

    initiator: bool
    target: bool
    folder: str
    """Of its files, below the configuration's."""
    queues: tuple[str, ...]
    """The names."""
    services: tuple[tuple[str, str, bool], ...]
    """(name, queue, whether dialogs may target it)."""
    own_key: str
    other_key: str
    """own_key, other_key: names of the certificates of the dialogs between two databases, of the
    user who owns the other one, of binding and route."""
    database: str
    """The target's; without one a word that no installed template shows."""

    @property
    def apart(self) -> bool:
        """Whether the other side is in another database."""
        return not (self.initiator and self.target)

    def holds(self, area: str, name: str) -> bool:
        """Whether the object of a template, in a directory, belongs here."""
        side = AREAS.get(area) or OBJECTS.get(name)
        return side is None or bool(getattr(self, side))


def sides(config: Config) -> list[Side]:
    """The target's side comes first: the sender's fetches its key."""
    initiator = (config.queues.initiator, config.services.initiator)
    target = (config.queues.target, config.services.target)
    keys = (f"redial_{config.name}_initiator", f"redial_{config.name}_target")

    def side(sends: bool, lands: bool, folder: str) -> Side:
        pairs = [(initiator, False)] * sends + [(target, True)] * lands
        return Side(
            sends,
            lands,
            folder,
            queues=tuple(queue for (queue, _), _ in pairs),
            services=tuple((service, queue, open_) for (queue, service), open_ in pairs),
            own_key=keys[not sends],
            other_key=keys[sends],
            database=config.target.database or "target",
        )

    if config.target.database is None:
        return [side(True, True, "")]
    return [side(False, True, "target/"), side(True, False, "")]


def signer_prefix(config: Config) -> str:
    """How the names of the certificates begin that sign this configuration's procedures (79_code_signing)."""
    return f"redial_{config.name}_signing_"
