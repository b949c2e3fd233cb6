"""An embedded broker in a process of its own, with two configurations, for the Spark tests."""

from __future__ import annotations

import re
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pyodbc

from redial.cli.configs import load_named
from redial.config import Config
from redial.deploy import apply, connect_odbc
from redial.paths import ROOT
from redial.server import with_database
from redial.spark.errors import PipelineError
from redial.spark.options import StreamReadOptions, WriteOptions
from redial.spark.parsing import parse
from redial.spark.session import need_java_and_spark
from redial_broker.tds.process import BrokerProcess
from tests.waiting import HANGS

DATABASE = "lab"
PASSWORD = re.compile(r"PWD=\{((?:[^}]|\}\})*)\}")
PROPERTIES = ("fromService", "toService", "contract", "messageType")


def missing() -> str:
    """Why Spark cannot run here; empty when it can."""
    try:
        need_java_and_spark()
    except PipelineError as error:
        return str(error)
    return ""


def bare_python(folder: Path) -> dict[str, str]:
    """Environment in which Spark's processes are this interpreter without Spark's own path, whose
    head is a zip of sources that it would compile: a stream's process has ten seconds to start."""
    return _python(folder, f"PYTHONPATH='{ROOT}' exec '{sys.executable}'")


def python_without_us(folder: Path) -> dict[str, str]:
    """And an interpreter with all that is installed here but this package: the one that made this
    environment, on which the path file of a clone has no effect."""
    path = f"{sysconfig.get_path('purelib')}:$PYTHONPATH"
    return _python(folder, f"PYTHONPATH=\"{path}\" exec '{sys._base_executable}'")


def _python(folder: Path, command: str) -> dict[str, str]:
    """Environment in which Spark's processes are this command."""
    worker = folder / "python"
    worker.write_text(f'#!/bin/sh\n{command} "$@"\n')
    worker.chmod(0o755)
    return dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), str(worker))


def with_pieces(config: Config) -> Config:
    """And the module by which Spark writes."""
    modules = config.modules.model_copy(update={"pieces": True})
    return config.model_copy(update={"modules": modules})


class Lab:
    """The broker and its database; ``orders`` has a key per dialog, ``audit`` a session."""

    def __init__(self, broker: BrokerProcess) -> None:
        self.broker = broker
        with pyodbc.connect(broker.odbc, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE};")
        self.odbc = with_database(broker.odbc, DATABASE)
        self.configs: dict[str, Config] = {}
        self.deploy("audit", "orders")
        self.sa = self.connect()

    def deploy(self, *names: str) -> None:
        """Configurations of sql/configs."""
        for name in names:
            self.configs[name] = with_pieces(load_named(name))
            apply(self.configs[name], connect_odbc(self.odbc))

    def connect(self, autocommit: bool = True) -> Any:
        """A session of its own."""
        return pyodbc.connect(self.odbc, autocommit=autocommit)

    def options(self, schema: str = "audit", **more: str) -> dict[str, str]:
        """How the data source connects."""
        found = PASSWORD.search(self.broker.odbc)
        assert found
        return {
            "server": f"127.0.0.1:{self.broker.port}",
            "database": DATABASE,
            "user": "sa",
            "password": found[1].replace("}}", "}"),
            "trustServerCertificate": "true",
            "schema": schema,
        } | more

    def sending(self, schema: str = "audit", **more: str) -> dict[str, str]:
        """And where a message goes."""
        config = self.configs[schema]
        return (
            self.options(schema)
            | {
                "fromService": config.services.initiator,
                "toService": config.services.target,
                "contract": config.contract.name,
                "messageType": config.message_types[0].name,
            }
            | more
        )

    def write_options(self, schema: str = "audit", **more: str) -> WriteOptions:
        """The same, as the code takes them."""
        return parse(WriteOptions, self.sending(schema, **more))

    def stream_options(self, **more: str) -> StreamReadOptions:
        """Of a stream that begins with what lands from now on."""
        return parse(StreamReadOptions, self.options(**({"startingMark": "latest"} | more)))

    def rows(self, sql: str, *values: Any) -> list[tuple]:
        """Of the last look."""
        return [tuple(row) for row in self.sa.execute(sql, *values).fetchall()]

    def value(self, expression: str) -> Any:
        """One."""
        return self.rows(f"SELECT {expression};")[0][0]

    def mark(self) -> str:
        """As options take it."""
        return "0x" + bytes(self.value("MIN_ACTIVE_ROWVERSION()")).hex().upper()

    def land(self, *bodies: bytes | None, connection: Any = None) -> str:
        """Rows as activation lands them, of one new conversation; its id."""
        conversation = str(self.value("CONVERT(char(36), NEWID())"))
        for number, body in enumerate(bodies):
            (connection or self.sa).execute(
                "INSERT INTO audit.Landing (ConversationId, ConversationHandle, MessageSequence, "
                "MessageType, Body) VALUES (?, ?, ?, N'//redial/audit/event', ?);",
                conversation,
                conversation,
                number,
                pyodbc.Binary(body) if body else None,
            )
        return conversation

    def landed(self, since: str, count: int, schema: str = "audit") -> list[bytes]:
        """Bodies that landed at or after a mark, once there are ``count``."""
        sql = (
            f"SELECT l.Body FROM {schema}.Landing AS l WHERE l.RowVersion >= {since} "
            f"AND l.MessageType = N'//redial/{schema}/event' "
            "ORDER BY l.ConversationId, l.MessageSequence;"
        )
        for _ in range(20 * HANGS):
            if len(found := self.rows(sql)) >= count:
                break
            self.sa.execute("WAITFOR DELAY '00:00:00.050';")
        return [bytes(body or b"") for (body,) in found]

    def ledger(self, job: str) -> list[tuple]:
        """(batch, partition, chunk, messages) of a job."""
        return self.rows(
            "SELECT BatchId, PartitionId, Chunk, MessageCount FROM audit.SendLedger "
            "WHERE JobId = ? ORDER BY 1, 2, 3;",
            job,
        )
