"""Sender and target in databases of their own, on one embedded instance with virtual time."""

from __future__ import annotations

from typing import Any

from redial.config import Config
from redial.deploy.apply import installation
from redial.render.quoting import quote_name
from redial_broker.exec.ddl.probing import unprobed
from redial_broker.instance.instance import Instance
from tests.installed import batches, borrow, key_of, rendered

from .lab import configured

SHOP, DEPOT = "shop", "de]pot's"
CONFIG = configured(target={"database": DEPOT}, timer={"after_seconds": 60, "spread_seconds": 0})
CATALOG = {
    "objects": "is_ms_shipped = 0",
    "services": "service_id > 65535",
    "service_contracts": "service_contract_id > 65535",
    "service_message_types": "message_type_id > 65535",
    "certificates": "1 = 1",
    "symmetric_keys": "1 = 1",
    "remote_service_bindings": "1 = 1",
    "routes": "1 = 1",
    "database_principals": "1 = 1",
    "schemas": "1 = 1",
    "types": "1 = 1",
    "extended_properties": "1 = 1",
}
"""Views whose names are compared before and after."""


class Two:
    """``shop`` sends, ``depot`` lands. Errors are raised with the server's first message."""

    def __init__(self, config: Config = CONFIG, deployed: bool = True, **switches: object) -> None:
        self.config = config
        self.files = rendered(config)
        key = ("two", key_of(config), deployed, tuple(sorted(switches.items())))
        self.instance = borrow(key, lambda: self._installed(deployed, switches))
        self.session = self.instance.connect()

    def _installed(self, deployed: bool, switches: dict[str, object]) -> Instance:
        """A new instance with both databases."""
        self.instance = Instance(seed=1, switches=switches)
        self.session = self.instance.connect()
        for name in (SHOP, DEPOT):
            self.run(f"CREATE DATABASE {quote_name(name)};", "master")
        if deployed:
            self.deploy()
        self.session.close()
        return self.instance

    def run(self, sql: str, database: str = SHOP) -> list[tuple]:
        """Run a batch in a database; the rows of its last result set."""
        self.session.execute(f"USE {quote_name(database)};")
        answer = self.session.execute(sql)
        assert not answer.errors, answer.errors
        return answer.result_sets[-1].rows if answer.result_sets else []

    def fail(self, sql: str, database: str = SHOP) -> Any:
        """The first error of a batch that must fail."""
        self.session.execute(f"USE {quote_name(database)};")
        answer = self.session.execute(sql)
        assert answer.errors, sql
        return answer.errors[0]

    def depot(self, sql: str) -> list[tuple]:
        return self.run(sql, DEPOT)

    def deploy(self) -> None:
        with unprobed(self.instance.server):
            for name in installation(self.files):
                self.script(name)

    def script(self, name: str, seconds: float = 0) -> None:
        """Send one file, moving time on behind each batch."""
        for sql in batches(self.files[name]):
            self.run(sql, DEPOT if "/" in name else SHOP)
            if seconds:
                self.instance.advance(seconds)

    def script_error(self, name: str, database: str) -> Any:
        """The first error of a file, None without one."""
        for sql in batches(self.files[name]):
            self.session.execute(f"USE {quote_name(database)};")
            answer = self.session.execute(sql)
            if answer.errors:
                return answer.errors[0]
        return None

    def send(self, body: str = "0x01") -> None:
        c = self.config
        self.run(
            f"EXECUTE audit.usp_Send N'{c.services.initiator}', N'{c.services.target}', "
            f"N'{c.contract.name}', N'{c.message_types[0].name}', {body};"
        )

    def bodies(self) -> list[bytes]:
        """What has landed, in order."""
        return [
            body
            for (body,) in self.depot(
                "SELECT Body FROM audit.Landing WHERE MessageType = N'//redial/audit/event' "
                "ORDER BY RowVersion;"
            )
        ]

    def endpoints(self, database: str) -> list[tuple]:
        return self.run("SELECT state, is_initiator FROM sys.conversation_endpoints;", database)

    def catalog(self) -> dict[tuple[str, str], list[tuple]]:
        """Names by database and view."""
        return {
            (database, view): sorted(
                self.run(f"SELECT name FROM sys.{view} WHERE {condition};", database)
            )
            for database in (SHOP, DEPOT)
            for view, condition in CATALOG.items()
        }
