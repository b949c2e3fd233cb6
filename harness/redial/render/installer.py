"""install.sql: every part in one file, for sqlcmd and SSMS, which go on after an error (F-139).

It stops itself. XACT_ABORT ends a batch at its first error; ``@@ERROR`` still tells the next batch
(F-350); ``SET NOEXEC ON`` lets everything after it be compiled and nothing be executed (SET NOEXEC
page). So no half is ever switched on. A batch that is only compiled may still print an error, for
example where the server is too old for its syntax; so the last line on the screen says what counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

STOP = "IF @@ERROR <> 0 SET NOEXEC ON;\nGO\n"

ABORT = "SET XACT_ABORT ON;\n"
"""What a part with a transaction of its own begins with; once in a batch is enough."""

START = """\
/* {stamp}: the whole installation.
   Run it in the database it is for; run it again after an error. The first error stops it: what follows
   is compiled and not executed. The last line it prints is "installed" or says that it is not.

   Words of the comments:
   dialog    a conversation of two services; each side has an endpoint in sys.conversation_endpoints
   R         a row of SessionConversations, and its lock: which dialog a key sends on
   G         the lock of a conversation group, which SEND, RECEIVE and END take; R comes before G
   gate      the row of Gate: closed, usp_Send refuses. A drain closes it and waits for every dialog to end
   copy      a row of SentMessage: a message that has not landed yet
   landed    the target has the message in Landing; dead letter: it has it, and could not process it
   poison    a message whose processing fails; stranded: copies of a dialog that is gone
   stamp     the line in each module that says which version made it; mark: the property Redial.made on
             what has no text. Nothing without one of them is ever altered or dropped
   F-nnn     a fact about SQL Server, with its source, in docs/facts.md; page: of Microsoft's documentation */
SET NOEXEC OFF;                         /* of an earlier run in the same window */
SET XACT_ABORT ON;                      /* a batch ends at its first error, so @@ERROR shows it */
SET ANSI_NULLS ON;                      /* this and the next are frozen into a module as it is made (F-103) */
SET QUOTED_IDENTIFIER ON;
SET IMPLICIT_TRANSACTIONS OFF;          /* else all of it waits in one transaction for a COMMIT */
SET ROWCOUNT 0;                         /* SSMS can be told another: lists would be cut (F-331) */
IF OBJECT_ID(N'tempdb..#redial_install', N'U') IS NULL
    CREATE TABLE #redial_install (Started bit NOT NULL);     /* left over at the end: not installed */
GO
"""

END = """\
IF OBJECT_ID(N'tempdb..#redial_install', N'U') IS NOT NULL
    DROP TABLE #redial_install;
PRINT N'{stamp}: installed';
GO
SET NOEXEC OFF;
GO
IF OBJECT_ID(N'tempdb..#redial_install', N'U') IS NOT NULL
    THROW 50220, N'{stamp}: NOT installed. The first error above is the reason. Errors between it and this line only follow from it. Next: do what it says, then run this script again.', 1;
GO
"""


def installer(
    parts: Mapping[str, str], header: str, stamp: str, database: str | None = None
) -> str:
    """The parts (name -> text, each beginning with ``header``) as one script that stops itself.

    database: the quoted name of the only one it is for, None for whichever is the current one.
    """
    pieces = [START.format(stamp=stamp), STOP]
    if database is not None:
        pieces.append(f"USE {database};\nGO\n{STOP}")
    bodies = {name: text.removeprefix(header) for name, text in parts.items()}
    for batch in _joined(bodies):
        pieces.append(batch.replace("\nGO\n", "\nGO\n" + STOP))
    pieces.append(END.format(stamp=stamp))
    return "".join(pieces)


def _joined(parts: Mapping[str, str]) -> Iterator[str]:
    """The parts, each under its name; neighbours of one area that can share a batch do."""
    held = ""
    area = ""
    for name, text in parts.items():
        titled = f"-- {name}\n{text}"
        if held and name[:2] == area and _shares(text):
            held = held.removesuffix("GO\n") + titled.replace(f"\n{ABORT}", "\n", 1)
            continue
        if held:
            yield held
            held = ""
        if _shares(text):
            held, area = titled, name[:2]
        else:
            yield titled
    if held:
        yield held


def _shares(text: str) -> bool:
    """Whether a part is one batch that others can be put to: no module, no variables."""
    return text.count("\nGO\n") == 1 and not re.search(
        r"^(?:CREATE OR ALTER|\s*DECLARE) ", text, re.MULTILINE
    )
