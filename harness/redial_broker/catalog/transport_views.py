"""Endpoints of the instance: the TDS one and Service Broker's (pages of sys.endpoints and kin)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.views import view
from redial_broker.exec.database import Database
from redial_broker.ssb.transport import AUTHENTICATIONS, ENCRYPTIONS, STATES

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

_INHERITED = """
name sysname
endpoint_id int
principal_id int
protocol tinyint
protocol_desc nvarchar(60)?
type tinyint
type_desc nvarchar(60)?
state tinyint
state_desc nvarchar(60)?
is_admin_endpoint bit
"""
_TSQL = ("TSQL Default TCP", 4, 1, 2, "TCP", 2, "TSQL", 0, "STARTED", 0)


def _broker_endpoint(db: Database) -> Any:
    return db.server.transport.broker_endpoint


def _row(endpoint: Any) -> RowValues:
    return (
        endpoint.name,
        endpoint.endpoint_id,
        endpoint.owner,
        2,
        "TCP",
        3,
        "SERVICE_BROKER",
        STATES[endpoint.state],
        endpoint.state,
        0,
    )


@view("sys.endpoints", _INHERITED)
def endpoints(session: SessionState, db: Database) -> Iterable[RowValues]:
    """The TDS endpoint, and Service Broker's when there is one."""
    yield _TSQL
    found = _broker_endpoint(db)
    if found is not None:
        yield _row(found)


@view(
    "sys.tcp_endpoints",
    _INHERITED
    + """port int
is_dynamic_port bit = 0
ip_address nvarchar(45)? = None""",
)
def tcp_endpoints(session: SessionState, db: Database) -> Iterable[RowValues]:
    """TCP endpoints; the TDS one has port 0, as on a server that reads it from the registry."""
    yield (*_TSQL, 0)
    found = _broker_endpoint(db)
    if found is not None:
        yield (*_row(found), found.port)


@view(
    "sys.service_broker_endpoints",
    _INHERITED
    + """is_message_forwarding_enabled bit
message_forwarding_size int
connection_auth tinyint
connection_auth_desc nvarchar(60)?
certificate_id int
encryption_algorithm tinyint
encryption_algorithm_desc nvarchar(60)?""",
)
def service_broker_endpoints(session: SessionState, db: Database) -> Iterable[RowValues]:
    """The Service Broker endpoint; nothing listens on it."""
    found = _broker_endpoint(db)
    if found is not None:
        yield (
            *_row(found),
            int(found.forwarding),
            found.forward_size,
            AUTHENTICATIONS[found.authentication],
            found.authentication,
            found.certificate_id,
            ENCRYPTIONS[found.encryption],
            found.encryption,
        )
