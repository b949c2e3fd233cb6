"""What lower rooms need of sessions, databases and the server is what these have: mypy looks.

Types alone: nothing of it is there when the broker runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redial_broker.engine import needs as of_engine
    from redial_broker.exec.database import Database
    from redial_broker.exec.server import Server
    from redial_broker.exec.session import SessionState
    from redial_broker.exec.xml.schemas import XmlSchemaCollection
    from redial_broker.instance.activation import ActivatedSink
    from redial_broker.instance.results import Collector
    from redial_broker.instance.sink import Sink
    from redial_broker.ssb import needs as of_ssb

    def _session(session: SessionState) -> tuple[of_engine.Owner, of_ssb.Caller]:
        return session, session

    def _database(database: Database) -> tuple[of_engine.Home, of_ssb.BrokerHome]:
        return database, database

    def _server(server: Server) -> of_ssb.HomeServer:
        return server

    def _collection(collection: XmlSchemaCollection) -> of_ssb.BodyCheck:
        return collection

    def _sinks(collector: Collector, activated: ActivatedSink) -> tuple[Sink, Sink]:
        return collector, activated
