"""A database whose callers have sent and closed: what landed in it is complete."""

from __future__ import annotations

import json
from typing import Any

import pyodbc

from redial.cli.configs import load_named
from redial.deploy import apply, connect_odbc
from redial.server import with_database
from redial_broker.tds.process import BrokerProcess

KEYS, EACH = ("red", "green"), 7
SEND = """
EXECUTE orders.usp_Send N'//redial/orders/initiator', N'//redial/orders/target',
    N'//redial/orders/contract', N'//redial/orders/event', @messageBody = ?, @key = ?;"""


class Shop:
    """A database with ``orders`` whose dialogs have all ended: two rounds, so two for each key."""

    def __init__(self, broker: BrokerProcess, database: str = "shop") -> None:
        self.odbc = with_database(broker.odbc, database)
        with pyodbc.connect(broker.odbc, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {database};")
        apply(load_named("orders"), connect_odbc(self.odbc))
        self.sa = pyodbc.connect(self.odbc, autocommit=True)
        for first in (0, EACH):
            for number in range(first, first + EACH):
                for key in KEYS:
                    self.sa.execute(SEND, json.dumps({"n": number}).encode(), key)
            self.sa.execute("EXECUTE orders.usp_Drain @reason = N'a round is over', @WhatIf = 0;")
            self.sa.execute("EXECUTE orders.usp_OpenGate @reason = N'the next one';")
        for _ in range(600):
            if not self.value("COUNT(*) FROM orders.ConversationLog WHERE EndedUtc IS NULL"):
                return
            self.sa.execute("WAITFOR DELAY '00:00:00.050';")
        raise AssertionError("the dialogs did not end")

    def value(self, rest: str) -> Any:
        """The one value of a SELECT."""
        return self.sa.execute(f"SELECT {rest};").fetchone()[0]
