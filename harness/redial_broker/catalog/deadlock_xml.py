"""xml_deadlock_report: the deadlock graph, attribute for attribute as seed 002 shows it.

Built when the cycle is found, while every process still stands where it stood; kept as data in a
ring, as system_health does. A user session's process has all attributes, a background one's the
short list.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from redial_broker.engine.clock import EPOCH
from redial_broker.engine.ids import short_hash
from redial_broker.engine.locks import Deadlock, Resource
from redial_broker.engine.state import definition
from redial_broker.engine.storage import Index, Table
from redial_broker.engine.transactions import Transaction

if TYPE_CHECKING:
    from redial_broker.exec.program import Program
    from redial_broker.exec.server import Server
    from redial_broker.exec.session import SessionState

REPORTED_WAIT_MS = 2600
"""The server's monitor looks every 5 seconds; the seed's waiters had waited 2,600 ms. A deadlock is
found at once here, so this is what it reports."""

ISOLATION = {
    "read uncommitted": "read uncommitted (1)",
    "read committed": "read committed (2)",
    "repeatable read": "repeatable read (3)",
    "serializable": "serializable (4)",
    "snapshot": "snapshot (5)",
}
CLIENT_OPTION_1, CLIENT_OPTION_2 = 673185824, 128056
NO_ATTENTION = "1900-01-01T00:00:00"
HANDLE_BYTES = 44


@definition()
@dataclass(frozen=True, slots=True)
class Report:
    """One deadlock report."""

    at: float
    """Clock seconds."""
    victim: int
    """Session id."""
    xml: str
    """The deadlock element."""


def report(instance: Any, deadlock: Deadlock) -> Report:
    """The report of a deadlock that has just been found."""
    engine = instance.engine
    builder = _Builder(instance.server, engine.clock.now())
    return Report(engine.clock.now(), deadlock.victim.owner.id, builder.build(deadlock))


class _Builder:
    """Writes one deadlock element."""

    def __init__(self, server: Server, now: float) -> None:
        self.server = server
        self.now = now

    def build(self, deadlock: Deadlock) -> str:
        """The whole element, on one line per part as the server formats it."""
        # The victim first, as in the seed; the others in the order of the cycle.
        waits = sorted(deadlock.waits, key=lambda w: w[0] is not deadlock.victim)
        lines = [
            "<deadlock>",
            " <victim-list>",
            f'  <victimProcess id="{process_id(deadlock.victim)}" />',
            " </victim-list>",
            " <process-list>",
        ]
        for transaction, resource, mode in waits:
            lines += self.process(transaction, resource, mode)
        lines += [" </process-list>", " <resource-list>"]
        for _, resource, _ in waits:
            lines += self.resource(resource)
        lines += [" </resource-list>", "</deadlock>"]
        return "\n".join(lines)

    # ------------------------------------------------------------------ processes
    def process(self, transaction: Transaction, resource: Resource, mode: str) -> list[str]:
        """One process element."""
        session = cast("SessionState", transaction.owner)
        stack = session.stack()
        sending = (
            resource.key[0] == "CONVERSATION_GROUP"
            and bool(stack)
            and stack[0][4].lstrip().upper().startswith("SEND")
        )
        name = "GetDialogByHandle" if sending else transaction_name(transaction, stack)
        owner_id = transaction_number(transaction) + (1 if sending else 0)
        begun = when(transaction.begun)
        attributes: list[tuple[str, Any]] = [
            ("id", process_id(transaction)),
            ("taskpriority", 0),
            # SEND looks its dialog up in a transaction of its own, which has logged nothing.
            ("logused", transaction.log_used),
            ("waitresource", wait_resource(self.server, resource)),
            ("waittime", REPORTED_WAIT_MS),
            ("ownerId", owner_id),
            ("transactionname", name),
            ("lasttranstarted", begun),
            ("XDES", address("xdes", transaction.descriptor)),
            ("lockMode", mode),
            ("schedulerid", session.id % 2 + 1),
            ("kpid", 4096 + session.id * 4),
            ("status", "background" if session.background else "suspended"),
            ("spid", session.id),
            ("sbid", 0),
            ("ecid", 0),
            ("priority", session.deadlock_priority),
            ("trancount", counted(transaction)),
        ]
        if not session.background:
            attributes += self.client_attributes(session, transaction)
        text = " ".join(f'{key}="{escape(str(value))}"' for key, value in attributes)
        return [
            f"  <process {text}>",
            "   <executionStack>",
            *self.frames(session, stack),
            "   </executionStack>",
            "   <inputbuf>",
            f"{escape(self.input_buffer(session))}   </inputbuf>",
            "  </process>",
        ]

    def client_attributes(
        self, session: SessionState, transaction: Transaction
    ) -> list[tuple[str, Any]]:
        """What only a session with a client has."""
        started = when(session.statement_started or transaction.begun)
        timeout = session.lock_timeout
        return [
            ("lastbatchstarted", started),
            ("lastbatchcompleted", started),
            ("lastattention", NO_ATTENTION + started[-4:]),
            ("clientapp", session.app_name),
            ("hostname", session.host_name),
            ("hostpid", session.host_pid),
            ("loginname", session.login_name),
            ("isolationlevel", ISOLATION[session.isolation]),
            ("xactid", transaction_number(transaction)),
            ("currentdb", session.database.id),
            ("lockTimeout", timeout % 2**32),
            ("clientoption1", CLIENT_OPTION_1),
            ("clientoption2", CLIENT_OPTION_2),
        ]

    def frames(self, session: SessionState, stack: list[Any]) -> list[str]:
        """The execution stack, innermost first."""
        lines = []
        programs = [frame.program for frame in reversed(session.frames)]
        for name, line, start, end, text in stack:
            # A frame without a statement (an activated task's own) is not in the stack.
            while programs and programs[0].full_name != name:
                programs.pop(0)
            program = programs.pop(0) if programs else None
            handle = sql_handle(program)
            lines.append(
                f'    <frame procname="{escape(name)}" line="{line}" stmtstart="{start * 2}" '
                f'stmtend="{end * 2}" sqlhandle="{handle}">'
            )
            lines.append(f"{escape(text)}    </frame>")
        return lines

    def input_buffer(self, session: SessionState) -> str:
        """The batch text, or for an RPC the procedure by database and object id."""
        if session.background:
            return ""
        if not session.rpc:
            return session.input_buffer
        found = session.database.resolve(
            None, session.input_buffer.split(".")[-1].strip("[]"), session
        )
        if found is None or not hasattr(found, "object_id"):
            return session.input_buffer
        return f"\nProc [Database Id = {session.database.id} Object Id = {found.object_id}]"

    # ------------------------------------------------------------------ resources
    def resource(self, resource: Resource) -> list[str]:
        """One element of the resource list with its owners and waiters."""
        kind, *rest = resource.key
        modes = list(resource.granted.values())
        mode = max(modes, key=STRENGTH.index) if modes else "X"
        lock = address("lock", resource.key, 9)
        if kind == "KEY":
            database, table, index = find_index(self.server, rest[0])
            name = f"{table.database.name}.{table.full_name}" if table is not None else ""
            index_name = index.name if index is not None else ""
            head = (
                f'keylock hobtid="{rest[0]}" dbid="{database}" objectname="{escape(name)}" '
                f'indexname="{escape(index_name)}" id="lock{lock}" mode="{mode}" '
                f'associatedObjectId="{rest[0]}"'
            )
        elif kind == "CONVERSATION_GROUP":
            head = (
                f'metadatalock subresource="CONVERSATION_GROUP" '
                f'classid="{group_hash(rest[1])}" dbid="{rest[0]}" id="lock{lock}" '
                f'mode="{mode}"'
            )
        elif kind in {"OBJECT", "QUEUE"}:
            name = self.object_name(*rest)
            head = (
                f'objectlock lockPartition="0" objid="{rest[1]}" subresource="FULL" '
                f'dbid="{rest[0]}" objectname="{escape(name)}" id="lock{lock}" '
                f'mode="{mode}" associatedObjectId="{rest[1]}"'
            )
        elif kind == "APPLICATION":
            head = (
                f'applicationlock hash="{escape(rest[1][:32])}" databasePrincipalId="{rest[2]}" '
                f'dbid="{rest[0]}" id="lock{lock}" mode="{mode}"'
            )
        else:
            head = f'{kind.lower()}lock id="lock{lock}" mode="{mode}"'
        name = head.split(" ", 1)[0]
        lines = [f"  <{head}>", "   <owner-list>"]
        lines += [
            f'    <owner id="{process_id(t)}" mode="{m}" />' for t, m in resource.granted.items()
        ]
        lines += ["   </owner-list>", "   <waiter-list>"]
        lines += [
            f'    <waiter id="{process_id(r.transaction)}" mode="{r.mode}" '
            f'requestType="{"convert" if r.converts else "wait"}" />'
            for r in resource.waiting
        ]
        return [*lines, "   </waiter-list>", f"  </{name}>"]

    def object_name(self, database_id: int, object_id: int) -> str:
        """database.schema.object of an object lock."""
        database = self.server.database_by_id(database_id)
        found = database.object_by_id(object_id) if database is not None else None
        if database is None or found is None:
            return ""
        return f"{database.name}.{found.schema}.{found.name}"


def wait_resource(server: Server, resource: Resource) -> str:
    """waitresource of a process: what it waits for, by kind."""
    kind, *rest = resource.key
    if kind == "KEY":
        return f"KEY: {find_index(server, rest[0])[0]}:{rest[0]} ({short_hash(rest[1])})"
    if kind == "CONVERSATION_GROUP":
        return f"METADATA: database_id = {rest[0]} CONVERSATION_GROUP({group_hash(rest[1])})"
    if kind in {"OBJECT", "QUEUE"}:
        return f"OBJECT: {rest[0]}:{rest[1]}:0"
    if kind == "APPLICATION":
        return f"APPLICATION: {rest[0]}:{rest[2]}:[{rest[1][:32]}]:({short_hash(rest[1], 8)})"
    return f"{kind}: {':'.join(str(part) for part in rest)}"


def find_index(server: Server, hobt_id: int) -> tuple[int, Table | None, Index | None]:
    """(database id, table, index) of a hobt id; (0, None, None) when there is none."""
    for database in server.databases.values():
        for table in database.tables():
            for index in (table.rows, *table.indexes):
                if index.hobt_id == hobt_id:
                    return database.id, table, index
    return 0, None, None


STRENGTH = [
    "Sch-S",
    "IS",
    "RangeS-S",
    "S",
    "RangeI-N",
    "IX",
    "RangeS-U",
    "RangeI-S",
    "U",
    "RangeI-U",
    "SIX",
    "RangeX-S",
    "RangeX-U",
    "BU",
    "RangeI-X",
    "X",
    "RangeX-X",
    "Sch-M",
]
"""Lock modes, weakest first, for the resource's own mode attribute."""


def process_id(transaction: Transaction) -> str:
    """processXXXXXXXXX: a stable name of the session's task."""
    return "process" + address("task", str(transaction.owner.id), 9)[2:]


def address(kind: str, value: object, digits: int = 9) -> str:
    """Something that looks like a memory address, the same in every run."""
    text = short_hash((kind, value), digits)
    return text if kind == "lock" else "0x" + text


def group_hash(group_id: str) -> str:
    """classid of a conversation group: three hashes of its id."""
    whole = short_hash(("group", group_id), 16) + short_hash(("tail", group_id), 6)
    return f"$hash = 0x{whole[:8]}:0x{whole[8:16]}:0x{whole[16:22]}"


def transaction_number(transaction: Transaction) -> int:
    """ownerId and xactid."""
    return transaction.descriptor


def transaction_name(transaction: Transaction, stack: list[Any]) -> str:
    """user_transaction, implicit_transaction, or the statement's verb in autocommit."""
    if transaction.user:
        return transaction.name
    verb = stack[0][4].split(None, 1)[0].upper() if stack and stack[0][4].split() else ""
    return verb or transaction.name


def counted(transaction: Transaction) -> int:
    """trancount: the transaction and the statement in it; a plain autocommit SELECT shows 0."""
    return 2 if transaction.user or transaction.log_used else 0


def when(seconds: float) -> str:
    """Clock seconds as the report prints moments, to the millisecond."""
    moment: datetime = EPOCH + timedelta(seconds=seconds)
    return moment.isoformat(timespec="milliseconds")


def sql_handle(program: Program | None) -> str:
    """0x0300 + database and object id, little-endian, for a module; 0x0200 + hash for a batch."""
    if program is not None and program.object_id:
        raw: bytes = (
            b"\x03\x00"
            + program.database.id.to_bytes(2, "little")
            + program.object_id.to_bytes(4, "little")
        )
    else:
        text = program.source.text if program is not None else ""
        raw = b"\x02\x00\x00\x00" + bytes.fromhex(short_hash(text, 16))
    return "0x" + raw.ljust(HANDLE_BYTES, b"\x00").hex()


def escape(text: str) -> str:
    """Text for XML content and attributes."""
    return (
        text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    )


def event_xml(item: Report) -> str:
    """A report as the event of an extended-events ring buffer."""
    stamp = when(item.at) + "Z"
    return (
        f'<event name="xml_deadlock_report" package="sqlserver" timestamp="{stamp}">'
        f'<data name="xml_report"><type name="xml" package="package0" />'
        f"<value>{item.xml}</value></data></event>"
    )


def ring_buffer_xml(reports: list[Report]) -> str:
    """target_data of the ring buffer."""
    events = "".join(event_xml(item) for item in reports)
    return (
        f'<RingBufferTarget truncated="0" processingTime="0" totalEventsProcessed="'
        f'{len(reports)}" eventCount="{len(reports)}" droppedCount="0" memoryUsed="0">'
        f"{events}</RingBufferTarget>"
    )
