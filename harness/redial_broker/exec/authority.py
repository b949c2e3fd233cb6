"""On whose behalf a message arrives: the owner of the service that sends it.

Inside one database that principal needs SEND on the target service (identity and access control
page). Between two databases it must first get there: the sending database vouches for it, which
takes TRUSTWORTHY ON (tutorial "Completing a Conversation Between Databases") and an owner the
target database trusts as an authenticator ("Extending database impersonation" page). F-251.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import SqlError
from redial_broker.engine.owners import DBO
from redial_broker.exec.keys import by_thumbprint
from redial_broker.exec.security import permitted, securable, user_for_login
from redial_broker.ssb.routing import binding_of
from redial_broker.ssb.switches import value

if TYPE_CHECKING:
    from redial_broker.exec.database import Database


def may_send(endpoint: Any, service: Any) -> bool:
    """Whether the owner of an endpoint's service has SEND on the target service."""
    target = service.broker.database
    if endpoint.broker is service.broker:
        principal = target.principal(endpoint.owner)
    else:
        login = owner_login(endpoint)
        principal = certified_user(endpoint, service) or (
            user_for_login(target, login) if login else None
        )
    return principal is not None and permitted(securable(service, target), principal, "SEND")


def no_entry(endpoint: Any, service: Any) -> str | None:
    """The text of error 916 when the owner cannot act in the target's database, else None.

    The target's answers need none of this: only the initiator's database must be trusted.
    """
    if certified_user(endpoint, service) is not None:
        return None
    source, target = endpoint.broker.database, service.broker.database
    login = owner_login(endpoint)
    trusted = source.options["trustworthy"] and _authenticates(source, target)
    if login is not None and trusted and user_for_login(target, login) is not None:
        return None
    owner = source.principal(endpoint.owner)
    return SqlError(916, login or (owner.name if owner else ""), target.name).text


def certified_user(endpoint: Any, service: Any) -> Any:
    """The user a remote service binding and certificates make of the sender, None without them.

    Full security: the binding's user owns the target's certificate, and the sending service's
    owner one that a user of the target's database owns too. Anonymous: public (dialog security
    page, "Creating a Secure Dialog").
    """
    source, target = endpoint.broker.database, service.broker.database
    binding: Any = binding_of(endpoint.broker, endpoint.far_service)
    if binding is None or value(source.engine, "certificates_in_instance") == "ignored":
        return None
    if not any(_twin(key, target) is not None for key in _certificates(source, binding.user)):
        return None
    if binding.anonymous:
        return target.principals["public"]
    for key in _certificates(source, endpoint.owner):
        twin = _twin(key, target) if key.key is not None and key.active else None
        if twin is not None:
            return target.principal(twin.owner)
    return None


def _certificates(database: Database, owner: int) -> list[Any]:
    return [
        key
        for (kind, _), key in sorted(database.keys.items())
        if kind == "CERTIFICATE" and key.owner == owner
    ]


def _twin(key: Any, database: Database) -> Any:
    """The same certificate in another database."""
    return by_thumbprint(database, key.thumbprint)


def owner_login(endpoint: Any) -> str | None:
    """The login behind the owner of an endpoint's service; None for a user without login."""
    database = endpoint.broker.database
    if endpoint.owner == DBO:
        owner: str | None = database.owner
        return owner
    principal = database.principal(endpoint.owner)
    return principal.login or None if principal is not None else None


def _authenticates(source: Any, target: Any) -> bool:
    """Whether the owner of a database has AUTHENTICATE in another one."""
    user = user_for_login(target, source.owner)
    return user is not None and permitted(securable(target, target), user, "AUTHENTICATE")
