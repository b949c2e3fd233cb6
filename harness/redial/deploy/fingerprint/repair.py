"""How a difference is undone: by deploying, by a statement, or by a person who knows why it is there.

What one statement undoes without touching data, messages or what belongs to others has one here.
"""

from __future__ import annotations

from redial.config.objects import object_names
from redial.deploy.fingerprint.compare import (
    CHANGED,
    EXCESS,
    MISSING,
    RENAMED,
    SINCE,
    Difference,
)
from redial.deploy.fingerprint.keys import LOCAL_ROUTE, LOWEST_LEVEL, SIGNER
from redial.deploy.fingerprint.model import HIDDEN, MARKED_INSIDE, OFF, ON, Thing
from redial.quoting import literal, quote_name

DEPLOY = "redial deploy makes it so again."
OVERWRITE = (
    "redial deploy makes it so again; redial plan says whether somebody has changed it by hand, which "
    "deploy undoes with --overwrite only."
)
GAP = "\n  "
"""Between a difference of many lines and its next step."""
BY_DEPLOY = {
    MISSING: frozenset(
        {"module", "table", "type", "queue", "service", "contract", "message type", "user", "role"}
        | {"role membership", "schema", "permission", "setting", "mark", "broker priority"}
        | {"event notification", "deployment", "agent job", "migration", "gate"}
        | {"certificate", "signature", "remote service binding", "route"}
    ),
    CHANGED: frozenset({"module", "setting", "broker priority", "deployment"}),
    EXCESS: frozenset({"deployment"}),
}
"""Kinds that a deployment mends whatever the property, by how they differ."""
PROPERTIES_BY_DEPLOY = frozenset(
    {
        ("event notification", "conversation"),
        ("queue", "procedure"),
        ("queue", "readers"),
        ("queue", "execute as"),
        ("service", "queue"),
        ("message type", "validation"),
        ("route", "leads to"),
        ("certificate", "public key"),
        ("database", "Service Broker"),
    }
)
LANDING_ORDER = frozenset({"IX_Landing_Conversation", "IX_Landing_Key"})
"""Indexes that order_index of [landing] makes, and its absence drops."""
_DATABASE = {
    "delayed durability": "SET DELAYED_DURABILITY = DISABLED; "
    "/* until then a crash loses messages that were committed */",
    "auto close": "SET AUTO_CLOSE OFF; /* until then nothing is activated while nobody is connected */",
    "read only": "SET READ_WRITE;",
    "open to": "SET MULTI_USER; /* until then users, or readers, do not come in */",
    "compatibility level": f"SET COMPATIBILITY_LEVEL = {LOWEST_LEVEL}; "
    "/* when your application was tried at it */",
}
"""Behind ALTER DATABASE CURRENT: options are the database's owner's, so a person decides."""
STAMP = "/* Redial "
"""How the comment begins by which a deployment knows a module as ours (05_preflight)."""
_QUEUE = {
    "receive": "STATUS = ON",
    "enqueue": "STATUS = ON",
    "retention": "RETENTION = OFF",
    "poison handling": "POISON_MESSAGE_HANDLING (STATUS = ON)",
}
_BINDING = {"user": "USER = {}", "anonymous": "ANONYMOUS = OFF"}
_ROUTE = {"service": "SERVICE_NAME", "address": "ADDRESS"}
_INDEX = {
    "row locks": "ALLOW_ROW_LOCKS",
    "page locks": "ALLOW_PAGE_LOCKS",
    "ignores duplicates": "IGNORE_DUP_KEY",
    "sequential": "OPTIMIZE_FOR_SEQUENTIAL_KEY",
}


def advised(difference: Difference, schema: str) -> str:
    """A difference, and what to do about it."""
    said = str(difference)
    return f"{said}{GAP if chr(10) in said else '. '}Next: {next_step(difference, schema)}"


def next_step(difference: Difference, schema: str) -> str:
    """What to do about a difference, one sentence."""
    if difference.how == SINCE:
        return (
            "undo it; or, when it is meant to be so, redial baseline, which keeps it as it is now."
        )
    if difference.how == RENAMED:
        return _named_again(difference, schema)
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
        text = difference.thing.kind == "module" and difference.what == "text"
        return OVERWRITE if text else _by_deploying(difference.thing)
    sql = statement(difference, schema)
    if sql is not None:
        return sql
    if difference.thing == LOCAL_ROUTE:
        drop = "" if difference.how == MISSING else "DROP ROUTE [AutoCreatedLocal]; "
        make = "CREATE ROUTE [AutoCreatedLocal] WITH ADDRESS = N'LOCAL';"
        return f"{drop}{make} unless routes of yours do it."
    if difference.how == EXCESS and difference.thing.kind == "migration":
        return "deploy with the version that has this migration; an older one refuses (50225)."
    if difference.how == EXCESS:
        return "ask who made it; drop it, or write down why it stays."
    kind, name, of = difference.thing
    if kind == "database":
        return f"ALTER DATABASE CURRENT {_DATABASE[difference.what]}"
    if kind == "owned object":
        own = f"{quote_name(schema)}.[OwnedObject]"
        return f"INSERT INTO {own} (Kind, Name) VALUES ({literal(of)}, {literal(name)});"
    if kind == "deployment":
        return "redial repair writes that row anew, where all is as the files make it."
    if kind == "gate":
        return (
            "when what it was closed for is over: "
            f"EXECUTE {quote_name(schema)}.[usp_OpenGate] @reason = N'...'; a deployment "
            "that was interrupted opens it when it runs again."
        )
    return (
        f"a person must: compare with the statement that makes {of or name} in the rendered files."
    )


def _named_again(difference: Difference, schema: str) -> str:
    """What to do about a table of ours with another name."""
    name = difference.thing.name
    if not difference.wanted:
        return (
            f"look at the rows of {name}: what a deployment has made since has the name. Move what is "
            "wanted, and drop it."
        )
    old = literal(f"{quote_name(schema)}.{quote_name(name)}")
    new, *more = difference.wanted.split(", ")
    if more:
        return f"EXECUTE sys.sp_rename {old}, N'one of {difference.wanted}', whichever it was."
    return f"EXECUTE sys.sp_rename {old}, {literal(new)};"


def _by_deploying(thing: Thing) -> str:
    """What a deployment does about a thing."""
    if thing.kind == "signature":
        return f"redial deploy signs {thing.of} again; until then it lacks the rights of db_owner."
    if thing.kind == "deployment" and thing.name != "last":
        return "redial deploy goes on where the one before stopped, and opens the gate."
    return DEPLOY


def _stampless(difference: Difference) -> bool:
    """Whether a module has lost the comment by which a deployment knows it as ours."""
    if difference.what != "text":
        return False
    stamps = [line for line in difference.wanted.splitlines() if line.startswith(STAMP)]
    return not any(stamp in difference.found for stamp in stamps)


def _of_another_choice(difference: Difference) -> bool:
    """Whether a module is one of ours that these choices do not install: 88_earlier drops it."""
    thing = difference.thing
    ours = STAMP in difference.found and thing.name in object_names()
    return difference.how == EXCESS and thing.kind == "module" and ours


def _unknown_as_ours(difference: Difference) -> bool:
    """Whether what has lost its mark has nothing else by which a deployment knows it (50208)."""
    thing = difference.thing
    alone = thing.name in MARKED_INSIDE and thing.name != "QUEUE"  # that has a reader of ours
    return difference.how == MISSING and thing.kind == "mark" and alone


def by_deploy(difference: Difference) -> bool:
    """Whether the next deployment mends it."""
    thing, what = difference.thing, difference.what
    if difference.how in (SINCE, RENAMED) or _stampless(difference):
        return False
    if thing.kind == "module" and what in ("fires", "owner"):
        return False  # CREATE OR ALTER leaves both as they are
    if SIGNER in thing.name or SIGNER in thing.of:
        return True  # a deployment makes another certificate and drops those before it
    if thing == LOCAL_ROUTE or _unknown_as_ours(difference):
        return False
    if thing.kind == "deployment" and difference.how == CHANGED:
        return what == "content"  # 90_deployment writes a row for other files only
    if thing.kind in BY_DEPLOY[difference.how] or _of_another_choice(difference):
        return True
    if _of_landing_choice(difference):
        return True
    if thing.kind == "queue" and what == "activation":
        return difference.found != OFF  # one that somebody has switched off stays off (87_queues)
    return difference.how == CHANGED and (thing.kind, what) in PROPERTIES_BY_DEPLOY


def _of_landing_choice(difference: Difference) -> bool:
    """Whether [landing] of the configuration makes or drops it, or rewrites the table for it."""
    kind, name, of = difference.thing
    if (kind, of) != ("index", "Landing"):
        return False
    return difference.what == "compression" or (difference.how != CHANGED and name in LANDING_ORDER)


def statement(difference: Difference, schema: str) -> str | None:
    """The statement that undoes it; None where there is none that anybody may run unasked."""
    if difference.how == CHANGED:
        return _changed(difference, schema)
    if difference.how == EXCESS:
        return _excess(difference.thing, schema)
    if _unknown_as_ours(difference):
        kind, name = difference.thing.name, difference.thing.of
        return f"EXECUTE {quote_name(schema)}.[usp_Mark] {literal(kind)}, {literal(name)};"
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
    if kind == "remote service binding" and what in ("user", "anonymous"):
        option = _BINDING[what].format(quote_name(value))
        return f"ALTER REMOTE SERVICE BINDING {quote_name(name)} WITH {option};"
    if kind == "route" and what in ("service", "address") and value:
        return f"ALTER ROUTE {quote_name(name)} WITH {_ROUTE[what]} = {literal(value)};"
    if kind == "certificate" and what == "for dialogs":
        return (
            f"ALTER CERTIFICATE {quote_name(name)} WITH ACTIVE FOR BEGIN_DIALOG = {value.upper()};"
        )
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
    if kind == "permission" and difference.found == "deny":
        permission, grantee = name.split(" to ", 1)
        on = _securable(difference.thing, schema)
        return (
            f"GRANT {permission}{on} TO {quote_name(grantee)}; "
            "/* takes the DENY away: ask who denied it, and why */"
        )
    if kind == "queue" and what == "activation":
        return (
            f"ALTER QUEUE {own}{quote_name(name)} WITH ACTIVATION (STATUS = ON); "
            "/* ask who has switched it off, and why */"
        )
    if kind == "permission" and difference.found == "grant with option":
        permission, grantee = name.split(" to ", 1)
        on = _securable(difference.thing, schema)
        return f"REVOKE GRANT OPTION FOR {permission}{on} FROM {quote_name(grantee)} CASCADE;"
    return None


def _excess(thing: Thing, schema: str) -> str | None:
    if thing.kind == "permission" and _known(thing):
        permission, grantee = thing.name.split(" to ", 1)
        return f"REVOKE {permission}{_securable(thing, schema)} FROM {quote_name(grantee)};"
    if thing.kind == "role membership":
        return f"ALTER ROLE {quote_name(thing.name)} DROP MEMBER {quote_name(thing.of)};"
    return None


def _known(thing: Thing) -> bool:
    """Whether what a permission is on can be named in a statement."""
    whole = thing.of == "DATABASE"
    return whole or any(thing.of.startswith(f"{one} ") for one in _CLASSES)


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


_CLASSES = (
    *("MESSAGE TYPE", "CONTRACT", "SERVICE", "SCHEMA", "OBJECT", "TYPE", "USER", "ROLE"),
    *("CERTIFICATE", "ROUTE", "REMOTE SERVICE BINDING", "SYMMETRIC KEY", "ASYMMETRIC KEY"),
)
