"""Files as statements name them: kept inside the instance, never on a disk.

BACKUP CERTIFICATE writes one, CREATE CERTIFICATE FROM FILE reads it; ``Instance.files`` shows them
to Python, which may put others there. Paths are compared without case, as on Windows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial_broker.engine.differences import differs
from redial_broker.engine.errors import SqlError

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState

differs(
    "files named by statements",
    "BACKUP CERTIFICATE, BACKUP MASTER KEY and CREATE CERTIFICATE FROM FILE use files inside "
    "the instance (Instance.files), never a disk.",
)


def write_file(session: SessionState, path: str, content: bytes) -> None:
    """Write a new file; like a real one it stays when the transaction is rolled back.

    Raises SqlError 15240 when it exists.
    """
    server = session.database.server
    if path.lower() in server.files:
        raise SqlError(15240, path)
    session.engine.journal.put(None, server, server.files, path.lower(), content)


def read_file(session: SessionState, path: str) -> bytes:
    """The content of a file. Raises SqlError 15208 when there is none."""
    found = session.database.server.files.get(path.lower())
    if found is None:
        raise SqlError(15208)
    return found
