"""A deployed configuration on a virtual clock, and the questions the seeds' tests ask it."""

from __future__ import annotations

from collections import Counter

from redial.config import Config
from redial.render.quoting import literal, quote_name
from redial_broker.engine.types import SYSNAME, VARBINARY_MAX
from redial_broker.instance.requests import Rpc, RpcParam
from redial_broker.instance.results import Collector
from redial_broker.instance.session import Session
from redial_lab.proof.audit_setups import DATABASE, deployed, small_config
from tests.installed import batches, borrow, key_of, rendered
from tests.product.sql.bare import MAY_LOSE

END_OF_STREAM = "EndOfStream"
EVENT = "//redial/audit/event"
SYSTEM = "http://schemas.microsoft.com/SQL/ServiceBroker/"
END_DIALOG, ERROR, TIMER = SYSTEM + "EndDialog", SYSTEM + "Error", SYSTEM + "DialogTimer"
LIFETIME = 2_592_000
RECYCLE_AFTER = 3600

CATALOG = {
    "sys.objects": "object_id",
    "sys.columns": "object_id, column_id",
    "sys.indexes": "object_id, index_id",
    "sys.sql_modules": "object_id",
    "sys.service_queues": "object_id",
    "sys.services": "service_id",
    "sys.service_contracts": "service_contract_id",
    "sys.service_message_types": "message_type_id",
    "sys.service_contract_message_usages": "service_contract_id, message_type_id",
    "sys.database_principals": "principal_id",
    "sys.database_role_members": "role_principal_id, member_principal_id",
    "sys.database_permissions": "class, major_id, grantee_principal_id, type",
    "sys.schemas": "schema_id",
}
"""Views that describe a deployment, and an order for each."""

XML_BODY = '<r a="\'&quot;">\u00e9\u6f22</r>'.encode("utf-16")
BODIES: tuple[bytes | None, ...] = (
    None,
    b"\x00",
    bytes(range(256)) * 4096,
    b"\x00\xff\xfe\x00\r\n'--",
    XML_BODY,
    "\u00fc\u6f22\U0001f600\u0130 ".encode("utf-16-le"),
)
"""No body, one byte, one megabyte, bytes that look like anything, XML with its BOM, Unicode."""


class Lab:
    """One deployment. ``session`` is sa's; ``send`` goes through usp_Send as applications do."""

    def __init__(self, config: Config | None = None, *, mutant: str | None = None) -> None:
        self.config = config or small_config()
        self.instance = borrow(
            ("seeds", key_of(self.config), mutant), lambda: deployed(self.config, mutant=mutant)
        )
        self.session = self.connect()

    # ------------------------------------------------------------------ doing
    def connect(self) -> Session:
        """One more in-process session of sa."""
        return self.instance.connect(DATABASE)

    def login(self, name: str, *roles: str) -> Session:
        """A session of a new login whose user is in those roles and has no other right."""
        self.run(
            f"CREATE LOGIN {name} WITH PASSWORD = N'Redial-2026x';"
            f"CREATE USER {name} FOR LOGIN {name};"
        )
        for role in roles:
            self.run(f"ALTER ROLE {quote_name(role)} ADD MEMBER {name};")
        session = self.instance.login(name, "Redial-2026x", DATABASE)
        session.sink = Collector()
        return session

    def run(self, sql: str) -> Collector:
        """Run a batch of sa's; its first error is raised as AssertionError."""
        return self.session.execute(sql).ok()

    def rows(self, sql: str) -> list[tuple]:
        """Rows of the first result set of a batch of sa's."""
        return self.run(sql).rows()

    def send(self, body: bytes | None, session: Session | None = None) -> Collector:
        """Call usp_Send with every name the configuration has; raises on an error."""
        return self.call_send(body, session).ok()

    def call_send(
        self, body: bytes | None, session: Session | None = None, **names: str | None
    ) -> Collector:
        """Call usp_Send; names replace parameters of that name."""
        config = self.config
        values = {
            "fromService": config.services.initiator,
            "toService": config.services.target,
            "onContract": config.contract.name,
            "messageType": config.message_types[0].name,
        } | names
        params = [RpcParam(f"@{name}", SYSNAME, value) for name, value in values.items()]
        params.append(RpcParam("@messageBody", VARBINARY_MAX, body))
        return self.call(self.own("usp_Send"), params, session)

    def call(self, name: str, params: list[RpcParam], session: Session | None = None) -> Collector:
        """A remote procedure call, run to its end."""
        session = session or self.session
        session.sink.clear()
        session.submit(Rpc(name, params))
        self.instance.run()
        assert session.sink.finished
        return session.sink

    def target_queue(self, status: str) -> None:
        """STATUS = ON or OFF; what is due afterwards has happened on return."""
        self.run(f"ALTER QUEUE {self.own(self.config.queues.target)} WITH STATUS = {status};")
        self.instance.run()

    def target_activation(self, status: str) -> None:
        """The target's reader ON or OFF; the queue itself stays as it is."""
        self.run(
            f"ALTER QUEUE {self.own(self.config.queues.target)} "
            f"WITH ACTIVATION (STATUS = {status});"
        )
        self.instance.run()

    def end_target(self, how: str = "") -> None:
        """END CONVERSATION on every target endpoint that has not ended."""
        for handle in self.handles(0):
            self.run(f"END CONVERSATION '{handle}' {how};")

    def advance(self, seconds: float) -> None:
        """Let virtual time pass."""
        self.instance.advance(seconds)

    # ------------------------------------------------------------------ looking
    def own(self, name: str) -> str:
        """A name of the configuration's schema, quoted."""
        return f"{quote_name(self.config.schema_name)}.{quote_name(name)}"

    def table(self, name: str, columns: str = "*", order: str = "") -> list[tuple]:
        """Rows of one of the configuration's tables."""
        return self.rows(f"SELECT {columns} FROM {self.own(name)} {order and 'ORDER BY ' + order};")

    def handles(self, is_initiator: int) -> list[str]:
        """Handles of one side's endpoints that are not CLOSED."""
        return [
            row[0]
            for row in self.rows(
                "SELECT conversation_handle FROM sys.conversation_endpoints "
                f"WHERE is_initiator = {is_initiator} AND state <> 'CD' ORDER BY send_sequence DESC;"
            )
        ]

    def endpoints(self) -> list[tuple[str, str]]:
        """(side, state_desc) of every endpoint, sorted."""
        return sorted(
            self.rows(
                "SELECT CASE is_initiator WHEN 1 THEN 'initiator' ELSE 'target' END, state_desc "
                "FROM sys.conversation_endpoints;"
            )
        )

    def landed(self) -> list[bytes | None]:
        """Bodies of the user messages that landed, in landing order."""
        return [
            row[0]
            for row in self.rows(
                f"SELECT Body FROM {self.own('Landing')} WHERE MessageType = "
                f"{literal(self.config.message_types[0].name)} ORDER BY RowVersion;"
            )
        ]

    def landed_types(self) -> list[str]:
        """Types of everything that landed, in landing order."""
        return [row[0] for row in self.table("Landing", "MessageType", "RowVersion")]

    def dead(self) -> list[tuple[int, bytes | None, int | None]]:
        """(sequence, body, code) of the dead letters, in order."""
        return self.table("DeadLetter", "MessageSequence, Body, Code", "DeadLetterId")

    def pending(self) -> list[tuple[int, bytes | None]]:
        """(sequence, body) of user messages in the transmission queue."""
        return self.rows(
            "SELECT message_sequence_number, message_body FROM sys.transmission_queue WHERE "
            f"message_type_name = {literal(self.config.message_types[0].name)} "
            "ORDER BY conversation_handle, message_sequence_number;"
        )

    def unread(self) -> list[tuple[str, bytes | None]]:
        """(type, body) of what lies in the target's queue."""
        return self.rows(
            "SELECT message_type_name, message_body FROM "
            f"{self.own(self.config.queues.target)} WITH (NOLOCK) "
            "ORDER BY queuing_order;"
        )

    def kept_only(self) -> list[tuple[str, bytes | None]]:
        """(type, body) of the copies of messages that are in no queue: their dialog was ended."""
        return self.rows(
            f"SELECT sm.MessageType, sm.Body FROM {self.own('SentMessage')} AS sm WHERE NOT EXISTS "
            "(SELECT 1 FROM sys.conversation_endpoints AS ce WHERE "
            "ce.conversation_id = sm.ConversationId AND (EXISTS (SELECT 1 "
            "FROM sys.transmission_queue AS tq WHERE tq.conversation_handle = "
            "ce.conversation_handle AND tq.message_sequence_number = sm.MessageSequence) "
            f"OR EXISTS (SELECT 1 FROM {self.own(self.config.queues.target)} AS q "
            "WITH (NOLOCK) WHERE q.conversation_handle = ce.conversation_handle "
            "AND q.message_sequence_number = sm.MessageSequence))) "
            "ORDER BY sm.ConversationId, sm.MessageSequence;"
        )

    def errors(self) -> list[tuple[int | None, str]]:
        """(number, text) of the configuration's error log."""
        return self.table("ErrorLog", "ErrorNumber, ErrorMessage", "ErrorLogId")

    def queues_on(self) -> bool:
        """Whether both queues can be received from and sent to."""
        return all(
            row == (1, 1)
            for row in self.rows(
                "SELECT is_receive_enabled, is_enqueue_enabled FROM sys.service_queues "
                "WHERE is_ms_shipped = 0;"
            )
        )

    # ------------------------------------------------------------------ what must hold
    def unaccounted(self, sent: list[bytes | None] | tuple[bytes | None, ...]) -> dict:
        """Bodies sent and nowhere to be found (positive count), or there too often (negative)."""
        found = Counter(self.landed())
        event = self.config.message_types[0].name
        found.update(
            body for kind, body in self.table("DeadLetter", "MessageType, Body") if kind == event
        )
        found.update(body for _, body in self.pending())
        found.update(body for kind, body in self.unread() if kind == event)
        found.update(body for kind, body in self.kept_only() if kind == event)
        wanted = Counter(sent)
        return {
            body: wanted[body] - found[body]
            for body in wanted | found
            if wanted[body] != found[body]
        }

    def at_rest(self) -> None:
        """No lock, no open transaction, no row that leads to a dead dialog."""
        assert not self.instance.engine.locks.resources
        assert all(s.transaction is None for s in self.instance.sessions.values())
        known = {row[0] for row in self.table("SessionConversations", "Handle")}
        assert known <= set(self.handles(1))

    # ------------------------------------------------------------------ deployment
    def deploy(self) -> None:
        """Run the configuration's installation scripts once more."""
        for name, text in rendered(self.config).items():
            if name[:2].isdigit():
                self.script(text)

    def uninstall(self, *, purge: bool = False) -> None:
        """Run the uninstall script, and the one that removes the data when asked."""
        files = rendered(self.config)
        self.script(files["uninstall.sql"])
        if purge:
            self.script(f"{MAY_LOSE}\nGO\n" + files["purge_data.sql"])

    def script(self, text: str) -> None:
        """Run a script with GO lines; virtual time passes where a batch waits."""
        session = self.connect()
        for sql in batches(text):
            collector = session.execute(sql)
            while not collector.finished:
                self.instance.advance(1)
            collector.ok()
        session.close()

    def catalog(self) -> dict[str, list[tuple]]:
        """What the catalog says of objects, modules, rights and principals, by view."""
        return {
            view: self.rows(f"SELECT * FROM {view} ORDER BY {order};")
            for view, order in CATALOG.items()
        }
