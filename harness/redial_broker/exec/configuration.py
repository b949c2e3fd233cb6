"""Options of the server: sp_configure sets the value, RECONFIGURE puts it in use.

Only options whose effect the embedded broker has are there; the others are as a server's defaults
and stay so ("Server configuration options" page).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from redial.tsql import ast
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.exec.context import Context
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.security import has_server_permission

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.server import Server
    from redial_broker.exec.session import SessionState


@dataclass(frozen=True, slots=True)
class Setting:
    """One option of sp_configure."""

    number: int
    name: str
    default: int
    low: int
    high: int
    """low, high: the bounds of its value."""
    text: str
    """Its description in sys.configurations."""
    advanced: bool = False
    """Shown only with 'show advanced options'."""
    changes: bool = False
    """Whether it may be set here."""


SETTINGS = (
    Setting(
        115,
        "nested triggers",
        1,
        0,
        1,
        "Allow triggers to be invoked within triggers",
        changes=True,
    ),
    Setting(503, "max worker threads", 0, 128, 65535, "Maximum worker threads", True),
    Setting(518, "show advanced options", 0, 0, 1, "show advanced options", changes=True),
    Setting(1568, "default trace enabled", 0, 0, 1, "Enable or disable the default trace", True),
    Setting(
        1569,
        "blocked process threshold (s)",
        0,
        0,
        86400,
        "Blocked process reporting threshold",
        True,
    ),
    Setting(
        16391,
        "Ad Hoc Distributed Queries",
        0,
        0,
        1,
        "Enable or disable Ad Hoc Distributed Queries",
        True,
    ),
)


def values_of(server: Server, setting: Setting) -> tuple[int, int]:
    """(value, value in use)."""
    found: tuple[int, int] = server.configuration.get(
        setting.name, (setting.default, setting.default)
    )
    return found


def visible_settings(server: Server) -> list[Setting]:
    """Those sp_configure shows: advanced ones only while show advanced options is on."""
    advanced = values_of(server, SETTINGS[2])[1]
    return sorted(
        (item for item in SETTINGS if advanced or not item.advanced),
        key=lambda item: item.name.lower(),
    )


def find_setting(server: Server, name: str) -> Setting:
    """The option a name or its unique beginning means. Raises SqlError 15123."""
    shown = visible_settings(server)
    exact = [item for item in shown if item.name.lower() == name.lower()]
    found = exact or [item for item in shown if item.name.lower().startswith(name.lower())]
    if len(found) != 1:
        raise SqlError(15123, name)
    return found[0]


def configure(session: SessionState, setting: Setting, value: int) -> None:
    """Set a value. Raises SqlError 15247, 15129, NotSupported."""
    server = session.database.server
    if not has_server_permission(session, "ALTER SETTINGS"):
        raise SqlError(15247)
    old, used = values_of(server, setting)
    if value != old and not setting.low <= value <= setting.high:
        raise SqlError(15129, value, setting.name)
    if value != old and not setting.changes:
        raise NotSupported(f"changing the server option '{setting.name}'")
    session.engine.journal.put(
        session.work(), server, server.configuration, setting.name, (value, used)
    )
    session.info(
        f"Configuration option '{setting.name}' changed from {old} to {value}. Run the "
        "RECONFIGURE statement to install.",
        0,
        15457,
    )


@compiles(ast.Reconfigure)
def reconfigure(node: ast.Reconfigure, context: Context) -> Run:
    """RECONFIGURE [WITH OVERRIDE]: values set by sp_configure come into use. 574 in a transaction."""

    def run(session: SessionState, variables: Values) -> None:
        if session.trancount:
            raise SqlError(574, "CONFIG")
        if not has_server_permission(session, "ALTER SETTINGS"):
            raise SqlError(5812)
        server = session.database.server
        for name, (value, _) in list(server.configuration.items()):
            session.engine.journal.put(
                session.work(), server, server.configuration, name, (value, value)
            )

    return run
