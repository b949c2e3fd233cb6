"""Whether a database can be opened and written to (ALTER DATABASE SET options page, F-483, F-484)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import Part
from redial_broker.engine.state import journaled, plain, state

if TYPE_CHECKING:
    from redial_broker.exec.replicas import Replica
    from redial_broker.exec.trouble import Trouble

ONLINE, OFFLINE, EMERGENCY = "ONLINE", "OFFLINE", "EMERGENCY"
"""States of a database."""


class DatabaseState(Part):
    """The part of a database that says what it lets happen.

    owner: name of its login. lost_owner: the SID shown instead when there is no such login. state:
    ONLINE, OFFLINE or EMERGENCY. group: its part in an availability group, None outside of one.
    trouble: a full disk and the like, a test's doing. user_access: MULTI_USER, SINGLE_USER or
    RESTRICTED_USER.
    """

    __slots__ = (
        "group",
        "lost_owner",
        "name",
        "options",
        "owner",
        "state",
        "trouble",
        "user_access",
    )
    STATE = state(
        journaled("name", "owner", "lost_owner", "state", "user_access"),
        journaled("options", "group", "trouble", show=plain),
    )
    _abstract = True

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.options: dict[str, Any] = {}
        self.owner = "sa"
        self.lost_owner: bytes | None = None
        self.state = ONLINE
        self.group: Replica | None = None
        self.trouble: Trouble | None = None
        self.user_access = "MULTI_USER"

    @property
    def read_only(self) -> bool:
        """Whether nobody can write: READ_ONLY, EMERGENCY, or a secondary replica."""
        return bool(
            self.options["read_only"]
            or self.state == EMERGENCY
            or (self.group is not None and not self.group.primary)
        )

    def check_writable(self) -> None:
        """Raises SqlError 3908 in EMERGENCY, 3906 for the other reasons of ``read_only``."""
        if self.read_only:
            raise SqlError(3908 if self.state == EMERGENCY else 3906, self.name)

    def check_open(self) -> None:
        """Raises SqlError 942 for a database that is OFFLINE, 976 for a closed secondary."""
        if self.state == OFFLINE:
            raise SqlError(942, self.name, state=4)
        if self.group is not None and not self.group.primary and not self.group.readable:
            raise SqlError(976, self.name)
