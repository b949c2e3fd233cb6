"""On whose behalf a message arrives: the owner of the service that sends it.

Inside one database that principal needs SEND on the target service (identity and access control
page). Between two databases it must first get there: the sending database vouches for it, which
takes TRUSTWORTHY ON (tutorial "Completing a Conversation Between Databases") and an owner the
target database trusts as an authenticator ("Extending database impersonation" page). F-251.
"""

from __future__ import annotations

from typing import Any

from harness.broker.engine.errors import SqlError
from harness.broker.exec.principals import DBO
from harness.broker.exec.security import permitted, securable, user_for_login


def may_send(endpoint: Any, service: Any) -> bool:
    """Whether the owner of an endpoint's service has SEND on the target service."""
    target = service.broker.database
    if endpoint.broker is service.broker:
        principal = target.principal(endpoint.owner)
    else:
        login = owner_login(endpoint)
        principal = user_for_login(target, login) if login else None
    return principal is not None and permitted(securable(service, target), principal, "SEND")


def no_entry(endpoint: Any, service: Any) -> str | None:
    """The text of error 916 when the owner cannot act in the target's database, else None.

    The target's answers need none of this: only the initiator's database must be trusted.
    """
    source, target = endpoint.broker.database, service.broker.database
    login = owner_login(endpoint)
    trusted = source.options["trustworthy"] and _authenticates(source, target)
    if login is not None and trusted and user_for_login(target, login) is not None:
        return None
    owner = source.principal(endpoint.owner)
    return SqlError(916, login or (owner.name if owner else ""), target.name).text


def owner_login(endpoint: Any) -> str | None:
    """The login behind the owner of an endpoint's service; None for a user without login."""
    database = endpoint.broker.database
    if endpoint.owner == DBO:
        return database.owner
    principal = database.principal(endpoint.owner)
    return principal.login or None if principal is not None else None


def _authenticates(source: Any, target: Any) -> bool:
    """Whether the owner of a database has AUTHENTICATE in another one."""
    user = user_for_login(target, source.owner)
    return user is not None and permitted(securable(target, target), user, "AUTHENTICATE")
