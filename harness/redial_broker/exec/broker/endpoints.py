"""CREATE, ALTER and DROP ENDPOINT .. FOR SERVICE_BROKER (CREATE ENDPOINT page).

The endpoint exists in the catalog and in transmission_status texts only: nothing listens.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec.context import Context
from redial_broker.exec.ddl.database_options import outside_transaction
from redial_broker.exec.ddl.drop import drops
from redial_broker.exec.ddl.naming import check_length
from redial_broker.exec.ddl.server_permissions import drop_permissions_on
from redial_broker.exec.keys import BY_MASTER_KEY
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.security import has_server_permission
from redial_broker.exec.tokens import ENDPOINT
from redial_broker.ssb.transport import (
    AUTHENTICATIONS,
    ENCRYPTIONS,
    BrokerEndpoint,
    Transport,
)

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

FIRST_ENDPOINT = 65536
_WINDOWS = ("NTLM", "KERBEROS", "NEGOTIATE")


@compiles(ast.CreateEndpoint)
def create_endpoint(node: ast.CreateEndpoint, context: Context) -> Run:
    """CREATE ENDPOINT: one FOR SERVICE_BROKER per instance (7862)."""
    if node.purpose != "SERVICE_BROKER":
        raise context.not_supported(node, f"CREATE ENDPOINT .. FOR {node.purpose}")
    changes, certificate = _changes(node, context)
    if "port" not in changes:
        raise context.fail(node, SqlError(102, "FOR", severity=15, aborts="batch"))

    def run(session: SessionState, variables: Values) -> None:
        transport = _transport(session, "CREATE ENDPOINT", "CREATE ENDPOINT")
        check_length(node.name.text)
        if transport.broker_endpoint is not None:
            raise SqlError(7862)
        made = BrokerEndpoint(FIRST_ENDPOINT, node.name.text, _owner(session, node.owner))
        _put(session, transport, replace(made, **changes, **_certificate(session, certificate)))

    return run


@compiles(ast.AlterEndpoint)
def alter_endpoint(node: ast.AlterEndpoint, context: Context) -> Run:
    """ALTER ENDPOINT: what is left out stays; 7863 when nothing is stated."""
    if node.purpose not in {None, "SERVICE_BROKER"}:
        raise context.not_supported(node, f"ALTER ENDPOINT .. FOR {node.purpose}")
    changes, certificate = _changes(node, context)

    def run(session: SessionState, variables: Values) -> None:
        transport = _transport(session, "ALTER ENDPOINT", "ALTER ANY ENDPOINT")
        old = transport.broker_endpoint
        if old is None or old.name.lower() != node.name.text.lower():
            raise SqlError(15151, "alter", "endpoint", node.name.text)
        if not changes and node.owner is None:
            raise SqlError(7863)
        new = replace(old, **changes, **_certificate(session, certificate))
        _put(
            session,
            transport,
            new if node.owner is None else replace(new, owner=_owner(session, node.owner)),
        )

    return run


@drops("ENDPOINT")
def drop_endpoint(session: SessionState, name: ast.ObjectName, if_exists: bool) -> None:
    """DROP ENDPOINT."""
    transport = _transport(session, "DROP ENDPOINT", "ALTER ANY ENDPOINT")
    old = transport.broker_endpoint
    if old is None or old.name.lower() != name.name.lower():
        raise SqlError(15151, "drop", "endpoint", name.name)
    drop_permissions_on(session, ENDPOINT, old.endpoint_id)
    _put(session, transport, None)


def _transport(session: SessionState, statement: str, permission: str) -> Transport:
    outside_transaction(session, statement)
    if not has_server_permission(session, permission):
        raise SqlError(15247)
    return session.database.server.transport


def _put(session: SessionState, transport: Transport, endpoint: BrokerEndpoint | None) -> None:
    transaction = session.work()
    session.engine.journal.assign(transaction, transport, "broker_endpoint", endpoint)
    # Messages that should leave the instance may wait for another reason now.
    broker = session.database.server.databases["msdb"].broker
    broker.note(transaction, ("ssb.altered", broker))


def _owner(session: SessionState, name: ast.Identifier | None) -> int:
    found = session.database.server.logins.get((name.text if name else session.login_name).lower())
    if found is None:
        raise SqlError(15151, "find", "login", name.text if name else session.login_name)
    return found.id


def _certificate(session: SessionState, name: str | None) -> dict[str, Any]:
    """The certificate of master an endpoint names, as a field. SqlError 15151, 28055."""
    if name is None:
        return {}
    found = session.database.server.databases["master"].keys.get(("CERTIFICATE", name.lower()))
    if found is None:
        raise SqlError(15151, "find", "certificate", name)
    if found.protection != BY_MASTER_KEY:
        raise SqlError(28055, name)
    return {"certificate_id": found.certificate_id}


# ---------------------------------------------------------------------- options
def _changes(node: ast.EndpointDefinition, context: Context) -> tuple[dict[str, Any], str | None]:
    """Fields of the endpoint the statement states, and the certificate it names."""
    found: dict[str, Any] = {}
    certificate = None
    if node.state is not None:
        found["state"] = node.state
    if node.protocol not in {None, "TCP"}:
        raise context.not_supported(node, f"an endpoint AS {node.protocol}")
    for option in node.protocol_options:
        word = option.value.text.upper() if isinstance(option.value, ast.Identifier) else ""
        if option.name == "LISTENER_PORT" and isinstance(option.value, ast.Literal):
            found["port"] = int(cast("int", option.value.value))
        elif option.name != "LISTENER_IP" or word != "ALL":
            raise context.not_supported(option, f"endpoint option {option.name}")
    for option in node.purpose_options:
        if option.name == "AUTHENTICATION":
            found["authentication"], certificate = _authentication(option, context)
            found["certificate_id"] = 0
        else:
            found.update(_purpose(option, context))
    if certificate is not None:
        del found["certificate_id"]
    return found, certificate


def _purpose(option: ast.Option, context: Context) -> dict[str, Any]:
    value = option.value
    upper = [word.upper() for word in _words(option)]
    if option.name == "ENCRYPTION":
        return {"encryption": _encryption(option, upper, context)}
    if option.name == "MESSAGE_FORWARDING" and upper in (["ENABLED"], ["DISABLED"]):
        return {"forwarding": upper == ["ENABLED"]}
    if option.name == "MESSAGE_FORWARD_SIZE" and isinstance(value, ast.Literal):
        return {"forward_size": int(cast("int", value.value))}
    raise context.not_supported(option, f"endpoint option {option.name}")


def _words(option: ast.Option) -> list[str]:
    first = [option.value.text] if isinstance(option.value, ast.Identifier) else []
    return first + [argument.name for argument in option.arguments or []]


def _authentication(option: ast.Option, context: Context) -> tuple[str, str | None]:
    """WINDOWS [NTLM | KERBEROS | NEGOTIATE] and CERTIFICATE name, one or both, in any order.

    Returns the description sys.service_broker_endpoints has and the certificate's name.
    """
    words, described, certificate = _words(option), [], None
    while words:
        word = words.pop(0).upper()
        if word == "CERTIFICATE" and words and certificate is None:
            certificate = words.pop(0)
            described.append(word)
        elif word == "WINDOWS":
            method = words.pop(0).upper() if words and words[0].upper() in _WINDOWS else _WINDOWS[2]
            described.append(method)
        else:
            described.append("?")
    if ", ".join(described) not in AUTHENTICATIONS:
        raise context.not_supported(option, f"AUTHENTICATION = {' '.join(_words(option))}")
    return ", ".join(described), certificate


def _encryption(option: ast.Option, words: list[str], context: Context) -> str:
    """ENCRYPTION = DISABLED | {SUPPORTED | REQUIRED} [ALGORITHM ..] as the view describes it."""
    if words == ["DISABLED"]:
        return "NONE"
    algorithms = words[2:] if words[1:2] == ["ALGORITHM"] else ["AES"]
    described = ", ".join([*(["NONE"] if words[:1] == ["SUPPORTED"] else []), *algorithms])
    if words[:1] not in (["SUPPORTED"], ["REQUIRED"]) or described not in ENCRYPTIONS:
        raise context.not_supported(option, f"ENCRYPTION = {' '.join(words)}")
    return described
