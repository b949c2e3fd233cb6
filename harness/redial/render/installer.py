"""install.sql: every part in one file, for sqlcmd and SSMS, which go on after an error (F-139).

It stops itself. XACT_ABORT ends a batch at its first error; ``@@ERROR`` still tells the next batch
(F-350); ``SET NOEXEC ON`` lets everything
after it be compiled and nothing be executed (SET NOEXEC page). So no half is ever switched on, and
the one error is the last thing on the screen.
"""

from __future__ import annotations

from collections.abc import Mapping

STOP = "IF @@ERROR <> 0 SET NOEXEC ON;\nGO\n"

START = """\
/* {stamp}: the whole installation. Run it in the database it is for; run it
   again after an error. The first error stops it: what follows is compiled and not executed. It
   ends with the line "installed"; without that line it is not. */
SET NOEXEC OFF;                         /* of an earlier run in the same window */
SET XACT_ABORT ON;                      /* a batch ends at its first error, so @@ERROR shows it */
SET IMPLICIT_TRANSACTIONS OFF;          /* else all of it waits in one transaction for a COMMIT */
SET ROWCOUNT 0;                         /* SSMS can be told another: lists would be cut (F-331) */
GO
"""

END = """\
PRINT N'{stamp}: installed';
GO
SET NOEXEC OFF;
GO
"""


def installer(
    parts: Mapping[str, str], header: str, stamp: str, database: str | None = None
) -> str:
    """The parts (name -> text, each beginning with ``header``) as one script that stops itself.

    database: the quoted name of the only one it is for, None for whichever is the current one.
    """
    pieces = [START.format(stamp=stamp)]
    if database is not None:
        pieces.append(f"USE {database};\nGO\n{STOP}")
    for name, text in parts.items():
        body = text.removeprefix(header).replace("\nGO\n", "\nGO\n" + STOP)
        pieces.append(f"-- {name}\n{header}{body}")
    pieces.append(END.format(stamp=stamp))
    return "".join(pieces)
