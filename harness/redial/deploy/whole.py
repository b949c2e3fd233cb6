"""The whole statement that undoes a difference in a database, with what goes by it and is given again."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from redial.deploy.fingerprint.compare import SINCE, Difference
from redial.deploy.fingerprint.model import DATABASE_OWNER, ON_KIND, Properties, Thing
from redial.deploy.fingerprint.repair import advised, way, ways_of
from redial.deploy.fingerprint.revoking import given_again
from redial.deploy.fingerprint.statements import statement
from redial.quoting import quote_name

if TYPE_CHECKING:
    from redial.deploy.verify import Look

UNTOLD = ways_of(overwrite=False, undo=False)
"""Ways of a deployment that was told nothing."""


def told(one: Look, difference: Difference) -> str:
    """A difference and what to do about it: a statement takes nobody more away than it says."""
    return advised(difference, one.schema, whole(one, difference, UNTOLD))


def whole(one: Look, difference: Difference, ways: Container[str]) -> str | None:
    """The statement; another owner takes rights away, and what is nobody's to take is given again.

    ways: whose statements run (``ways_of``). None where there is none.
    """
    if difference.how == SINCE and difference.thing == DATABASE_OWNER and difference.wanted:
        owner = quote_name(difference.wanted)
        return f"ALTER AUTHORIZATION ON DATABASE::{quote_name(one.database)} TO {owner};"
    sql = statement(difference, one.schema)
    if sql is None or difference.what != "owner":
        return sql
    going = {each.thing for each in one.differences if way(each) in ways}
    again = [
        given_again(own, one.schema)
        for thing, own in sorted(one.found.items())
        if thing.kind == "permission" and _goes_with(thing, own, difference.thing)
        if thing not in one.wanted and thing not in going
    ]
    if not again:
        return sql
    return " ".join(["SET XACT_ABORT ON; BEGIN TRANSACTION;", sql, *again, "COMMIT TRANSACTION;"])


def _goes_with(right: Thing, own: Properties, owned: Thing) -> bool:
    """Whether a right goes with the owner of something; with a schema's also those on what is in it."""
    inside = owned.kind == "schema" and own[ON_KIND] in ("OBJECT", "TYPE")
    return inside or right.belongs_to(owned)
