"""How a difference is undone: by deploying, by a statement, or by a person who knows why it is there.

What one statement undoes without touching data, messages or what belongs to others has one here.
"""

from __future__ import annotations

from redial.deploy.fingerprint.compare import CHANGED, EXCESS, MISSING, Difference
from redial.deploy.fingerprint.model import HIDDEN, ON, Thing
from redial.quoting import quote_name

DEPLOY = "redial deploy makes it so again."
BY_DEPLOY = {
    MISSING: frozenset(
        {"module", "table", "type", "queue", "service", "contract", "message type", "user", "role"}
        | {"role membership", "schema", "permission", "setting", "mark", "broker priority"}
        | {"event notification", "deployment", "agent job"}
    ),
    CHANGED: frozenset({"module", "setting", "broker priority", "deployment"}),
    EXCESS: frozenset[str](),
}
"""Kinds that a deployment mends whatever the property, by how they differ."""
PROPERTIES_BY_DEPLOY = frozenset(
    {
        ("queue", "activation"),
        ("queue", "procedure"),
        ("queue", "readers"),
        ("queue", "execute as"),
        ("service", "queue"),
        ("message type", "validation"),
    }
)
LOCAL_ROUTE = Thing("route", "AutoCreatedLocal")
"""Every database has it from its beginning; by it a dialog finds a service of the same instance."""
STAMP = "/* Redial "
"""How the comment begins by which a deployment knows a module as ours (05_preflight)."""
_QUEUE = {
    "receive": "STATUS = ON",
    "enqueue": "STATUS = ON",
    "retention": "RETENTION = OFF",
    "poison handling": "POISON_MESSAGE_HANDLING (STATUS = ON)",
}
_INDEX = {
    "row locks": "ALLOW_ROW_LOCKS",
    "page locks": "ALLOW_PAGE_LOCKS",
    "ignores duplicates": "IGNORE_DUP_KEY",
    "sequential": "OPTIMIZE_FOR_SEQUENTIAL_KEY",
}


def next_step(difference: Difference, schema: str) -> str:
    """What to do about a difference, one sentence."""
    if difference.found == HIDDEN:
        return (
            "look with a login that has VIEW DEFINITION; if it is encrypted, somebody has replaced "
            "it: ask who, before it is dropped and redial deploy makes ours."
        )
    if _stampless(difference):
        kind = difference.wanted.split()[1]
        return (
            f"when its text may go: DROP {kind} {quote_name(schema)}.{quote_name(difference.thing.name)}; "
            "then redial deploy, which refuses a module without our comment (50208)."
        )
    if by_deploy(difference):
        return DEPLOY
    sql = statement(difference, schema)
    if sql is not None:
        return sql
    if difference.thing == LOCAL_ROUTE:
        return (
            "CREATE ROUTE [AutoCreatedLocal] WITH ADDRESS = N'LOCAL'; unless routes of yours do it."
        )
    if difference.how == EXCESS:
        return "ask who made it; drop it, or write down why it stays."
    kind, name, of = difference.thing
    if kind == "gate":
        return (
            "when what it was closed for is over: "
            f"EXECUTE {quote_name(schema)}.[usp_OpenGate] @reason = N'...'; a deployment "
            "that was interrupted opens it when it runs again."
        )
    return (
        f"a person must: compare with the statement that makes {of or name} in the rendered files."
    )


def _stampless(difference: Difference) -> bool:
    """Whether a module has lost the comment by which a deployment knows it as ours."""
    if difference.what != "text":
        return False
    stamps = [line for line in difference.wanted.splitlines() if line.startswith(STAMP)]
    return not any(stamp in difference.found for stamp in stamps)


def by_deploy(difference: Difference) -> bool:
    """Whether the next deployment mends it."""
    thing, what = difference.thing, difference.what
    if _stampless(difference):
        return False
    if thing.kind == "module" and what in ("fires", "owner"):
        return False  # CREATE OR ALTER leaves both as they are
    if thing.kind in BY_DEPLOY[difference.how]:
        return True
    if difference.how == CHANGED and thing.kind == "permission":
        return difference.found == "deny"  # GRANT takes a DENY of the same permission away
    return difference.how == CHANGED and (thing.kind, what) in PROPERTIES_BY_DEPLOY


def statement(difference: Difference, schema: str) -> str | None:
    """The statement that undoes it; None where there is none that anybody may run unasked."""
    if difference.how == CHANGED:
        return _changed(difference, schema)
    if difference.how == EXCESS:
        return _excess(difference.thing, schema)
    return None


def _changed(difference: Difference, schema: str) -> str | None:
    kind, name, of = difference.thing
    what, value = difference.what, difference.wanted
    own = f"{quote_name(schema)}."
    if kind == "queue" and what in _QUEUE:
        return f"ALTER QUEUE {own}{quote_name(name)} WITH {_QUEUE[what]};"
    if kind == "table" and what == "lock escalation":
        return f"ALTER TABLE {own}{quote_name(name)} SET (LOCK_ESCALATION = {value.upper()});"
    if kind == "index" and what in _INDEX:
        on = f"{quote_name(name)} ON {own}{quote_name(of)}"
        return f"ALTER INDEX {on} SET ({_INDEX[what]} = {value.upper()});"
    if kind == "index" and what == "in use":
        return f"ALTER INDEX {quote_name(name)} ON {own}{quote_name(of)} REBUILD;"
    if kind == "module" and what == "fires":
        return f"ENABLE TRIGGER {own}{quote_name(name)} ON {own}{quote_name(of)};"
    if kind == "check" and what in ("in force", "trusted") and value == ON:
        table = f"{own}{quote_name(of)}"
        return f"ALTER TABLE {table} WITH CHECK CHECK CONSTRAINT {quote_name(name)};"
    if what == "owner" and not value:
        on = f"{'TYPE' if kind == 'type' else 'OBJECT'}::{own}{quote_name(name)}"
        return f"ALTER AUTHORIZATION ON {on} TO SCHEMA OWNER;"
    if what == "owner":
        on = f"{kind.upper()}::{quote_name(name)}"
        return f"ALTER AUTHORIZATION ON {on} TO {quote_name(value)};"
    if kind == "permission" and difference.found == "grant with option":
        permission, grantee = name.split(" to ", 1)
        on = _securable(difference.thing, schema)
        return f"REVOKE GRANT OPTION FOR {permission}{on} FROM {quote_name(grantee)} CASCADE;"
    return None


def _excess(thing: Thing, schema: str) -> str | None:
    if thing.kind == "permission":
        permission, grantee = thing.name.split(" to ", 1)
        return f"REVOKE {permission}{_securable(thing, schema)} FROM {quote_name(grantee)};"
    if thing.kind == "role membership":
        return f"ALTER ROLE {quote_name(thing.name)} DROP MEMBER {quote_name(thing.of)};"
    return None


def _securable(thing: Thing, schema: str) -> str:
    """`` ON CLASS::name`` of a permission; nothing for the database's."""
    if thing.of == "DATABASE":
        return ""
    kind = next(k for k in _CLASSES if thing.of.startswith(f"{k} "))
    name = thing.of.removeprefix(f"{kind} ")
    if kind not in ("OBJECT", "TYPE"):
        return f" ON {kind}::{quote_name(name)}"
    table, _, column = name.partition(" (")
    other, dot, rest = table.partition(".")
    own = (
        f"{quote_name(other)}.{quote_name(rest)}"
        if dot
        else f"{quote_name(schema)}.{quote_name(table)}"
    )
    return f" ON {kind}::{own}" + (f" ({quote_name(column[:-1])})" if column else "")


_CLASSES = ("MESSAGE TYPE", "CONTRACT", "SERVICE", "SCHEMA", "OBJECT", "TYPE", "USER")
