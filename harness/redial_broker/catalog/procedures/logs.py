"""The ERRORLOG by T-SQL, and user messages: sp_readerrorlog, xp_logevent, sp_addmessage ...

Rules: pages of sp_readerrorlog, sp_cycle_errorlog, xp_logevent, sp_addmessage and sp_dropmessage;
the parameters of xp_readerrorlog as they are used in the field (F-245).
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.procedures.arguments import REQUIRED, Call, procedure, result_columns
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.journal import MISSING
from redial_broker.engine.types import DATETIME, NVARCHAR_MAX
from redial_broker.exec.calls import converted
from redial_broker.exec.security import has_server_permission
from redial_broker.exec.server import UserMessage
from redial_broker.exec.tokens import SYSADMIN, server_identity

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

SECURITY_ADMIN = 4
DONE = (
    "DBCC execution completed. If DBCC printed error messages, contact your system administrator."
)

LINES = result_columns("""
LogDate datetime?
ProcessInfo nvarchar(50)?
Text nvarchar(max)?""")

ARCHIVES = result_columns("""
Archive nvarchar(10)
Date nvarchar(24)
Size int""")


def may_read(session: SessionState) -> None:
    """Raise SqlError 15003 for who is neither securityadmin nor may view error logs."""
    if SECURITY_ADMIN not in server_identity(session) and not has_server_permission(
        session, "VIEW ANY ERROR LOG"
    ):
        raise SqlError(15003, "securityadmin")


def matching(
    session: SessionState, number: int, kind: int, words: list[str | None]
) -> list[RowValues]:
    """Lines of one log that contain all the words, without regard to case."""
    if kind != 1:
        raise NotSupported("the SQL Server Agent's log")
    wanted = [word.lower() for word in words if word]
    return [
        line
        for line in session.instance.error_log.file(number)
        if all(word in line[2].lower() for word in wanted)
    ]


@procedure("sp_readerrorlog", p1=0, p2=1, p3=None, p4=None)
def sp_readerrorlog(call: Call) -> None:
    """Lines of the current log (0) or an archived one: what both words are in."""
    session = call.session
    may_read(session)
    found = matching(
        session, call.number("p1") or 0, call.number("p2") or 1, [call.text("p3"), call.text("p4")]
    )
    call.answer(LINES, found)


@procedure(
    "xp_readerrorlog",
    number=0,
    kind=1,
    first=None,
    second=None,
    begins=None,
    ends=None,
    order="asc",
)
def xp_readerrorlog(call: Call) -> None:
    """The same by log number, kind, two words, first and last moment, and order asc or desc."""
    session = call.session
    may_read(session)
    found = matching(
        session,
        call.number("number") or 0,
        call.number("kind") or 1,
        [call.text("first"), call.text("second")],
    )
    begins, ends = _moment(call["begins"]), _moment(call["ends"])
    found = [
        line
        for line in found
        if (begins is None or line[0] >= begins) and (ends is None or line[0] <= ends)
    ]
    if (call.text("order") or "asc").lower() == "desc":
        found.reverse()
    call.answer(LINES, found)


def _moment(value: Any) -> datetime | None:
    if value is None or isinstance(value, datetime):
        return value
    read: datetime | None = converted(str(value), NVARCHAR_MAX, DATETIME)
    return read


@procedure("sp_cycle_errorlog")
def sp_cycle_errorlog(call: Call) -> None:
    """Begin a new log; six old ones are kept. For members of sysadmin."""
    session = call.session
    if SYSADMIN not in server_identity(session):
        raise SqlError(15003, "sysadmin")
    session.instance.error_log.cycle()
    session.info(DONE, 10, 2528)


@procedure("xp_enumerrorlogs", "sp_enumerrorlogs", p1=1)
def sp_enumerrorlogs(call: Call) -> None:
    """The logs there are: number, when they were begun or ended, characters in them."""
    session = call.session
    may_read(session)
    log = session.instance.error_log
    rows = []
    for number in range(log.count):
        lines = log.file(number)
        last = lines[-1][0] if lines else session.now()
        rows.append(
            (str(number), last.strftime("%m/%d/%Y  %H:%M"), sum(len(line[2]) for line in lines))
        )
    call.answer(ARCHIVES, rows)


@procedure("xp_logevent", error_number=REQUIRED, message=REQUIRED, severity="INFORMATIONAL")
def xp_logevent(call: Call) -> None:
    """A message of one's own into the ERRORLOG; the client hears nothing (its page)."""
    session = call.session
    number, severity = call.number("error_number") or 0, (call.text("severity") or "").upper()
    if number <= 50000 or severity not in {"INFORMATIONAL", "WARNING", "ERROR"}:
        raise SqlError(15021, "error_number" if number <= 50000 else "severity")
    if SYSADMIN not in server_identity(session):
        session.check_permission("EXECUTE", session.database.server.databases["master"])
    level = {"INFORMATIONAL": 10, "WARNING": 10, "ERROR": 16}[severity]
    log = session.instance.error_log
    log.write(f"spid{session.id}", f"Error: {number}, Severity: {level}, State: 1")
    log.write(f"spid{session.id}", call.text("message") or "")


# ---------------------------------------------------------------------- user messages
@procedure(
    "sp_addmessage",
    msgnum=REQUIRED,
    severity=REQUIRED,
    msgtext=REQUIRED,
    lang=None,
    with_log="FALSE",
    replace=None,
)
def sp_addmessage(call: Call) -> None:
    """A message for RAISERROR(number, ...). Raises SqlError 15040, 15041, 15043, 15271, 15247."""
    session = call.session
    if not has_server_permission(session, "ALTER TRACE"):
        raise SqlError(15247)
    number, severity = call.number("msgnum") or 0, call.number("severity") or 0
    with_log = (call.text("with_log") or "").upper()
    language = (call.text("lang") or "us_english").lower()
    if language not in {"us_english", "english"}:
        raise NotSupported(f"messages in {language}")
    if number <= 50000:
        raise SqlError(15040)
    if not 1 <= severity <= 25:
        raise SqlError(15041)
    if with_log not in {"TRUE", "FALSE"}:
        raise SqlError(15271)
    server = session.database.server
    if (number, 1033) in server.messages and (call.text("replace") or "").lower() != "replace":
        raise SqlError(15043)
    session.engine.journal.put(
        session.work(),
        server,
        server.messages,
        (number, 1033),
        UserMessage(call.text("msgtext") or "", severity, with_log == "TRUE"),
    )


@procedure("sp_dropmessage", msgnum=REQUIRED, lang=None)
def sp_dropmessage(call: Call) -> None:
    """Take a message of sp_addmessage away. Raises SqlError 15178, 15179, 15247."""
    session = call.session
    server, number = session.database.server, call.number("msgnum") or 0
    if not has_server_permission(session, "ALTER TRACE"):
        raise SqlError(15247)
    if number <= 50000:
        raise SqlError(15178)
    if (number, 1033) not in server.messages:
        raise SqlError(15179, number)
    session.engine.journal.put(session.work(), server, server.messages, (number, 1033), MISSING)


@procedure("sp_altermessage", message_id=REQUIRED, parameter=REQUIRED, parameter_value=REQUIRED)
def sp_altermessage(call: Call) -> None:
    """Whether a message goes to the log: parameter WITH_LOG, value true or false (its page)."""
    session = call.session
    server, number = session.database.server, call.number("message_id") or 0
    value = (call.text("parameter_value") or "").upper()
    if not has_server_permission(session, "ALTER TRACE"):
        raise SqlError(15247)
    if (call.text("parameter") or "").upper() != "WITH_LOG":
        raise SqlError(15176)
    if value not in {"TRUE", "FALSE"}:
        raise SqlError(15277)
    found = server.messages.get((number, 1033))
    if found is None:
        raise (
            SqlError(15179, number)
            if number > 50000
            else NotSupported("sp_altermessage of a message of the server")
        )
    session.engine.journal.put(
        session.work(),
        server,
        server.messages,
        (number, 1033),
        UserMessage(found.text, found.severity, value == "TRUE"),
    )
