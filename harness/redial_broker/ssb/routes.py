"""CREATE, ALTER and DROP of routes and remote service bindings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING
from redial_broker.engine.owners import DBO
from redial_broker.ssb import names
from redial_broker.ssb.ddl import changed, find, refuse_taken
from redial_broker.ssb.definitions import RemoteServiceBinding, Route
from redial_broker.ssb.routing import LOCAL, TRANSPORT, binding_of, is_address

if TYPE_CHECKING:
    from redial_broker.engine.transactions import Transaction
    from redial_broker.ssb.broker import Broker

ROUTE_NAME_LIMIT = 256
_WORDS = {LOCAL, TRANSPORT}


# ---------------------------------------------------------------------- routes
def create_route(
    broker: Broker,
    transaction: Transaction,
    name: str,
    service_name: str | None,
    broker_instance: str | None,
    lifetime: int | None,
    address: str,
    owner: int = DBO,
    mirror_address: str | None = None,
) -> Route:
    """CREATE ROUTE. lifetime: seconds. Raises SqlError 2714, 9659..9662, 9743..9747."""
    refuse_taken(broker.routes, name)
    return _put(
        broker,
        transaction,
        Route(
            broker.take_id(),
            name,
            service_name,
            _upper(broker_instance),
            cast(str, _address(address)),
            _expires(broker, name, lifetime),
            owner,
            _address(mirror_address),
        ),
    )


def alter_route(
    broker: Broker,
    transaction: Transaction,
    name: str,
    service_name: str | None,
    broker_instance: str | None,
    lifetime: int | None,
    address: str | None,
    mirror_address: str | None = None,
) -> Route:
    """ALTER ROUTE: what is not stated stays. Raises SqlError 15151 and those of CREATE."""
    old: Route = find(broker.routes, name, "alter", "route")
    stated = {
        "service_name": service_name,
        "broker_instance": _upper(broker_instance),
        "address": _address(address),
        "mirror_address": _address(mirror_address),
        "expires": _expires(broker, name, lifetime),
    }
    return _put(
        broker,
        transaction,
        replace(
            old,
            **cast(
                "dict[str, Any]",
                {field: value for field, value in stated.items() if value is not None},
            ),
        ),
    )


def drop_route(broker: Broker, transaction: Transaction, name: str) -> None:
    """DROP ROUTE; AutoCreatedLocal may go too."""
    find(broker.routes, name, "drop", "route")
    broker.engine.journal.put(transaction, broker, broker.routes, name, MISSING)


def _put(broker: Broker, transaction: Transaction, route: Route) -> Route:
    _check(route)
    broker.engine.journal.put(transaction, broker, broker.routes, route.name, route)
    changed(broker, transaction)
    return route


def _upper(text: str | None) -> str | None:
    return text.upper() if text else text


def _address(text: str | None) -> str | None:
    """The two words in capitals; a network address stays as it was written."""
    return text.upper() if text is not None and text.upper() in _WORDS else text


def _expires(broker: Broker, name: str, lifetime: int | None) -> float | None:
    if lifetime is None:
        return None
    if not 1 <= lifetime <= names.NEVER:
        # [U] the lower limit: taken from LIFETIME of a dialog.
        raise SqlError(9746, name, 1, names.NEVER)
    return broker.engine.clock.now() + lifetime


def _check(route: Route) -> None:
    """The rules of the CREATE ROUTE page."""
    name, mirror = route.name, route.mirror_address
    for what, given in (
        ("SERVICE_NAME", route.service_name),
        ("BROKER_INSTANCE", route.broker_instance),
        ("ADDRESS", route.address),
        ("MIRROR_ADDRESS", mirror),
    ):
        if given == "":
            raise SqlError(9659, what, name)
        if given is not None and len(given) > ROUTE_NAME_LIMIT:
            raise SqlError(9660, what, name, ROUTE_NAME_LIMIT + 1)
    if route.broker_instance is not None and route.service_name is None:
        raise SqlError(9662, name)
    if mirror is not None:
        if route.service_name is None or route.broker_instance is None:
            raise SqlError(9661, name)
        for what, given in (("ADDRESS", route.address), ("MIRROR_ADDRESS", mirror)):
            if given in _WORDS:
                raise SqlError(9743, what, name)
        if mirror.lower() == route.address.lower():
            raise SqlError(9747, name)
    for what, given in (("ADDRESS", route.address), ("MIRROR_ADDRESS", mirror)):
        if given is not None and given not in _WORDS and not is_address(given):
            raise SqlError(9744, what, name)
    if route.address == TRANSPORT and route.service_name is not None:
        raise SqlError(9745, name)


# ---------------------------------------------------------------------- remote service bindings
def create_binding(
    broker: Broker,
    transaction: Transaction,
    name: str,
    service_name: str,
    user: int,
    anonymous: bool,
    owner: int = DBO,
) -> RemoteServiceBinding:
    """CREATE REMOTE SERVICE BINDING. Raises SqlError 2714 and 9619."""
    refuse_taken(broker.bindings, name)
    if binding_of(broker, service_name) is not None:
        raise SqlError(9619, name, service_name)
    made = RemoteServiceBinding(broker.take_id(), name, service_name, user, anonymous, owner)
    broker.engine.journal.put(transaction, broker, broker.bindings, name, made)
    changed(broker, transaction)
    return made


def alter_binding(
    broker: Broker, transaction: Transaction, name: str, user: int | None, anonymous: bool | None
) -> None:
    """ALTER REMOTE SERVICE BINDING: what is not stated stays. Raises SqlError 15151."""
    old: RemoteServiceBinding = find(broker.bindings, name, "alter", "remote service binding")
    new = replace(
        old,
        user=old.user if user is None else user,
        anonymous=old.anonymous if anonymous is None else anonymous,
    )
    broker.engine.journal.put(transaction, broker, broker.bindings, name, new)
    changed(broker, transaction)


def drop_binding(broker: Broker, transaction: Transaction, name: str) -> None:
    """DROP REMOTE SERVICE BINDING. Raises SqlError 15151."""
    find(broker.bindings, name, "drop", "remote service binding")
    broker.engine.journal.put(transaction, broker, broker.bindings, name, MISSING)
    changed(broker, transaction)
