"""Messages only drivers meet: bulk loads and API server cursors; part of ``messages.MESSAGES``.

Texts are those of the errors-events pages.
"""

from __future__ import annotations

DRIVER_MESSAGES: dict[int, tuple[int, str]] = {
    4816: (16, "Invalid column type from bcp client for colid %d."),
    4891: (16, "Insert bulk failed due to a schema change of the target table."),
    16902: (16, "%s: The value of the parameter %s is invalid."),
    16903: (16, 'The "%s" procedure was called with an incorrect number of parameters.'),
    16909: (16, "%s: The cursor identifier value provided (%x) is not valid."),
    16929: (16, "The cursor is READ ONLY."),
    16937: (
        16,
        "A server cursor cannot be opened on the given statement or statements. Use a "
        "default result set or client cursor.",
    ),
    16954: (10, "Executing SQL directly; no cursor."),
}
