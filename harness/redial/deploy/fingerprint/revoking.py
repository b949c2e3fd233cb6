"""The statement that undoes a right, written of the parts that are found of it."""

from __future__ import annotations

from redial.deploy.fingerprint.compare import Difference
from redial.deploy.fingerprint.model import (
    DENIED,
    GRANTEE,
    GRANTOR,
    ON_COLUMN,
    ON_KIND,
    ON_NAME,
    ON_SCHEMA,
    PASSED_ON,
    PERMISSION,
    Properties,
)
from redial.quoting import qualified, quote_name


def made_plain(difference: Difference, schema: str) -> str | None:
    """Of a right that is denied, or may be passed on, and should be granted."""
    has = difference.has
    if difference.found == DENIED:
        return f"GRANT {has[PERMISSION]}{_on(has, schema)} TO {quote_name(has[GRANTEE])}{_as(has)};"
    if difference.found == PASSED_ON:
        return f"REVOKE GRANT OPTION FOR{_revoked(has, schema)};"
    return None


def given_again(has: Properties, schema: str) -> str:
    """Of one that is found and goes with another owner of what it is on."""
    verb = "DENY" if has["state"] == DENIED else "GRANT"
    option = " WITH GRANT OPTION" if has["state"] == PASSED_ON else ""
    return f"{verb} {has[PERMISSION]}{_on(has, schema)} TO {quote_name(has[GRANTEE])}{option};"


def taken_away(has: Properties, schema: str) -> str | None:
    """Of one that no file gives; None where what it is on cannot be named in a statement."""
    known = has[ON_KIND] in (*_KINDS, "DATABASE")
    return f"REVOKE{_revoked(has, schema)};" if known else None


def _revoked(has: Properties, schema: str) -> str:
    """Behind REVOKE, for a right that is found. With the option to pass it on what was passed on goes too
    (4611 otherwise); what another than the owner has given is taken AS that one.
    """
    cascade = " CASCADE" if has["state"] == PASSED_ON else ""
    grantee = quote_name(has[GRANTEE])
    return f" {has[PERMISSION]}{_on(has, schema)} FROM {grantee}{cascade}{_as(has)}"


def _as(has: Properties) -> str:
    return f" AS {quote_name(has[GRANTOR])}" if has[GRANTOR] else ""


def _on(has: Properties, schema: str) -> str:
    """`` ON CLASS::name`` of a permission; nothing for the database's."""
    kind, name, column = has[ON_KIND], has[ON_NAME], has[ON_COLUMN]
    if kind == "DATABASE":
        return ""
    inside = kind in ("OBJECT", "TYPE")
    own = qualified(has[ON_SCHEMA] or schema, name) if inside else quote_name(name)
    return f" ON {kind}::{own}" + (f" ({quote_name(column)})" if column else "")


_KINDS = (
    *("MESSAGE TYPE", "CONTRACT", "SERVICE", "SCHEMA", "OBJECT", "TYPE", "USER", "ROLE"),
    *("CERTIFICATE", "ROUTE", "REMOTE SERVICE BINDING", "SYMMETRIC KEY", "ASYMMETRIC KEY"),
)
