"""A deployed audit configuration on an embedded instance with virtual time, for one test."""

from __future__ import annotations

from typing import Any

from redial.config import Config, load
from redial.paths import CONFIGS
from redial_broker.exec.ddl.probing import unprobed
from redial_broker.instance.instance import PASSWORD, USER, Instance
from redial_broker.instance.requests import Batch
from redial_broker.instance.results import Collector
from tests.installed import batches, borrow, key_of, rendered

SHIPPED = load(CONFIGS / "audit.toml")
AUDIT = SHIPPED.model_copy(
    update={
        "envelope": SHIPPED.envelope.model_copy(update={"who": False}),
        "modules": SHIPPED.modules.model_copy(update={"pieces": True}),
    }
)
"""Without its envelope: what these tests look at in queues is then what they sent. With every module."""
ERROR = "http://schemas.microsoft.com/SQL/ServiceBroker/Error"
END_DIALOG = "http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog"


def configured(**sections: dict[str, Any]) -> Config:
    """The audit config with other values: ``configured(timer={"retry_seconds": 5})``."""
    changed = {
        section: type(before := getattr(AUDIT, section)).model_validate(
            before.model_dump() | values
        )
        for section, values in sections.items()
    }
    return AUDIT.model_copy(update=changed)


class Client:
    """One session. ``execute`` returns the rows of the last result set; errors are raised."""

    def __init__(self, lab: Lab, database: str = "lab") -> None:
        self.lab = lab
        self.session = lab.instance.login(USER, PASSWORD, database)
        self.out = Collector()

    def submit(self, sql: str) -> None:
        """Send a batch and run everything that can run; the client may still be waiting."""
        self.out = Collector()
        self.session.sink = self.out
        self.session.submit(Batch(sql))
        self.lab.settle()

    def execute(self, sql: str) -> list[tuple]:
        """Run a batch to its end. Raises AssertionError with the server's first error."""
        self.submit(sql)
        assert self.out.finished, f"waits: {sql}"
        errors = self.errors
        assert not errors, errors
        return self.out.result_sets[-1].rows if self.out.result_sets else []

    def fail(self, sql: str) -> int:
        """Run a batch that must fail; the number of its first error."""
        self.submit(sql)
        assert self.out.finished, f"waits: {sql}"
        assert self.errors, f"did not fail: {sql}"
        return self.errors[0].number

    @property
    def errors(self) -> list[Any]:
        return [m for m in self.out.messages if m.severity > 10]

    def value(self, expression: str) -> Any:
        return self.execute(f"SELECT {expression};")[0][0]


class Lab:
    """The instance; ``sa`` is a client that only looks."""

    def __init__(
        self, config: Config = AUDIT, mutant: str | None = None, **switches: object
    ) -> None:
        self.config = config
        key = ("lab", key_of(config), mutant, tuple(sorted(switches.items())))
        self.instance = borrow(key, lambda: self._installed(mutant, switches))
        self.sa = Client(self)

    def _installed(self, mutant: str | None, switches: dict[str, object]) -> Instance:
        """A new instance with database ``lab`` and the configuration in it."""
        self.instance = Instance(seed=1, switches=switches)
        setup = self.instance.login(USER, PASSWORD, "master")
        setup.sink = Collector()
        setup.submit(Batch("CREATE DATABASE lab;"))
        self.settle()
        self.sa = Client(self)
        with unprobed(self.instance.server):
            for name, text in rendered(self.config, mutant).items():
                if name[:2].isdigit():
                    for sql in batches(text):
                        self.sa.execute(sql)
        self.instance.disconnect(self.sa.session)
        return self.instance

    def settle(self) -> None:
        while self.instance.pump():
            pass

    def advance(self, seconds: float) -> None:
        """Move time, stopping at every timer so that what it wakes runs in time."""
        left = seconds
        while left > 0:
            due = self.instance.next_due()
            step = left if due is None else min(max(due, 0.0), left)
            self.instance.clock.advance(step)
            self.settle()
            left -= step
            if due is None:
                self.instance.clock.advance(left)
                left = 0

    def rows(self, sql: str) -> list[tuple]:
        return self.sa.execute(sql)

    def landed(self) -> list[tuple]:
        """(sequence, type, body) in the order of landing."""
        return self.rows(
            "SELECT MessageSequence, MessageType, Body FROM audit.Landing ORDER BY RowVersion;"
        )

    def bodies(self) -> list[bytes | None]:
        """Bodies of the landed user messages."""
        event = self.config.message_types[0].name
        return [body for _, kind, body in self.landed() if kind == event]

    def errors(self) -> list[tuple]:
        return self.rows("SELECT ProcedureName, ErrorNumber, ErrorMessage FROM audit.ErrorLog;")

    def endpoints(self) -> list[tuple[str, int]]:
        """(state, is_initiator) of every endpoint."""
        return self.rows(
            "SELECT state, is_initiator FROM sys.conversation_endpoints ORDER BY 2, 1;"
        )

    def handle(self) -> str:
        """The handle the only row leads to."""
        ((handle,),) = self.rows("SELECT Handle FROM audit.SessionConversations;")
        return handle


def send(
    body: str = "0x01",
    message_type: str = "//redial/audit/event",
    key: str | None = None,
    message_id: str | None = None,
) -> str:
    """A call of usp_Send; key and message_id: T-SQL constants or variables."""
    return (
        "EXECUTE audit.usp_Send N'//redial/audit/initiator', N'//redial/audit/target', "
        f"N'//redial/audit/contract', N'{message_type}', {body}"
        + (f", @key = {key}" if key else "")
        + (f", @messageId = {message_id}" if message_id else "")
        + ";"
    )
