"""The statement that undoes a difference. Who may decide to run it, ``repair`` says.

One statement, or a few that hold together, for each kind and property that can be undone without a
copy of somebody's rows; None for the others.
"""

from __future__ import annotations

from collections.abc import Callable

from redial.config.objects import object_names
from redial.deploy.fingerprint.compare import (
    ALIKE,
    CHANGED,
    EXCESS,
    EXCHANGED,
    IN_PLACE,
    MISSING,
    PLACE,
    SINCE,
    WAS,
    Difference,
)
from redial.deploy.fingerprint.keys import LOCAL_ROUTE, LOWEST_LEVEL, MASTER_KEY, NO_KEY
from redial.deploy.fingerprint.model import (
    AS_WRITTEN,
    CONNECT,
    DATABASE_NOTIFICATION,
    DATABASE_PERMISSION,
    DATABASE_TRIGGER,
    GRANTEE,
    HIDDEN,
    MARKED_INSIDE,
    OFF,
    ON,
    OPTION,
    POWER,
    ROUTE_OF_ALL,
    Thing,
    written,
)
from redial.deploy.fingerprint.naming import (
    all_at_once,
    default_of,
    named_back,
    no_default,
    together,
)
from redial.deploy.fingerprint.revoking import made_plain, taken_away
from redial.deploy.fingerprint.surroundings import settable
from redial.deploy.fingerprint.tables import INCREMENTAL, PRIMARY
from redial.quoting import literal, qualified, quote_name

_OPENED = (
    "OPEN MASTER KEY DECRYPTION BY PASSWORD = N'...'; ALTER MASTER KEY ADD ENCRYPTION BY SERVICE MASTER "
    "KEY; CLOSE MASTER KEY;"
)
"""Its password is whoever's who has made it."""
DATABASE_OPTIONS = {
    "delayed durability": "DELAYED_DURABILITY = DISABLED",
    "auto close": "AUTO_CLOSE OFF",
    "read only": "READ_WRITE",
    "open to": "MULTI_USER",
}
"""Behind ALTER DATABASE CURRENT SET."""
_QUEUE = {
    "receive": "STATUS = ON",
    "enqueue": "STATUS = ON",
    "retention": "RETENTION = OFF",
    "poison handling": "POISON_MESSAGE_HANDLING (STATUS = ON)",
    "activation": "ACTIVATION (STATUS = ON)",
}
_BINDING = {"user": "USER = {}", "anonymous": "ANONYMOUS = OFF"}
_ROUTE = {"service": "SERVICE_NAME", "address": "ADDRESS"}
_INDEX_SET = {
    "row locks": "ALLOW_ROW_LOCKS",
    "page locks": "ALLOW_PAGE_LOCKS",
    "ignores duplicates": "IGNORE_DUP_KEY",
    "sequential": "OPTIMIZE_FOR_SEQUENTIAL_KEY",
}
_INDEX_REBUILD = {
    "padded": "PAD_INDEX",
    "fill factor": "FILLFACTOR",
    "compression": "DATA_COMPRESSION",
}
_HAS_SEQUENTIAL = (
    "CONVERT(int, PARSENAME(CONVERT(nvarchar(128), SERVERPROPERTY(N'ProductVersion')), 4)) >= 15"
)
"""Before SQL Server 2019 that option is a syntax error."""
_ANEW = frozenset({"columns", "included", "filter", "unique", "clustered", "role"})
"""What an index cannot be given: it is made anew."""
_TABLE_OPTIONS = {
    "large values out of row": "N'large value types out of row', 0",
    "text in row": "N'text in row', N'OFF'",
    "table lock on bulk load": "N'table lock on bulk load', 0",
}
_MADE_BY_FILES = frozenset(
    {("event notification", what) for what in ("events", "service", "other broker")}
    | {("route", "mirror"), ("route", "expires"), ("remote service binding", "service")}
    | {("certificate", "private key"), ("certificate", "last day")}
)
"""What is dropped for the files to make it anew."""


def statement(difference: Difference, schema: str) -> str | None:
    """The statement that undoes it; None where there is none."""
    if difference.others:
        return all_at_once(difference, schema)
    if difference.how == EXCHANGED:
        return named_back(difference.has, schema, "")
    if difference.how == CHANGED:
        return _changed(difference, schema)
    if difference.how == EXCESS:
        return _excess(difference, schema)
    if difference.how == MISSING:
        return _missing(difference, schema)
    return _since(difference) if difference.how == SINCE else None


def module_kind(text: str) -> str:
    """PROCEDURE, VIEW, FUNCTION or TRIGGER by a module's text; empty where it does not say."""
    word = "".join(text.split(maxsplit=2)[1:2]).upper()
    word = "PROCEDURE" if word == "PROC" else word
    return word if word in ("PROCEDURE", "VIEW", "FUNCTION", "TRIGGER") else ""


def made_by_files(difference: Difference) -> bool:
    """Whether the statement only makes room, and a file makes the thing."""
    thing = difference.thing
    if difference.how != CHANGED or thing == LOCAL_ROUTE:
        return False
    mirrored = thing.kind == "route" and difference.has.get(
        "mirror"
    )  # LOCAL is refused then (9743)
    return bool(mirrored) or (thing.kind, difference.what) in _MADE_BY_FILES


def _changed(difference: Difference, schema: str) -> str | None:
    kind, name, _ = difference.thing
    if made_by_files(difference):
        return _drop(difference.thing, schema)
    if difference.what == "owner":
        return _owner(difference, schema)
    if kind == "database":
        if difference.what == MASTER_KEY:
            return _OPENED
        option = DATABASE_OPTIONS.get(difference.what)
        if difference.what == "compatibility level":
            level = max(LOWEST_LEVEL, int(difference.has.get(WAS, 0)))
            option = settable(difference.what, str(level))
        return f"ALTER DATABASE CURRENT SET {option};" if option else None
    if kind == "remote service binding" and difference.what in _BINDING:
        option = _BINDING[difference.what].format(quote_name(difference.wanted))
        return f"ALTER REMOTE SERVICE BINDING {quote_name(name)} WITH {option};"
    if kind == "certificate" and difference.what == "for dialogs":
        active = difference.wanted.upper()
        return f"ALTER CERTIFICATE {quote_name(name)} WITH ACTIVE FOR BEGIN_DIALOG = {active};"
    make = _CHANGES.get(kind)
    return make(difference, schema) if make else None


def _table(difference: Difference, schema: str) -> str | None:
    table = qualified(schema, difference.thing.name)
    if difference.what == "lock escalation":
        return f"ALTER TABLE {table} SET (LOCK_ESCALATION = {difference.wanted.upper()});"
    words = difference.found.split(", ") if difference.what == "special" else []
    if not words or not set(words) <= _TABLE_OPTIONS.keys():
        return None
    return " ".join(
        f"EXECUTE sys.sp_tableoption {literal(table)}, {_TABLE_OPTIONS[one]};" for one in words
    )


def _index(difference: Difference, schema: str) -> str | None:
    thing, what, value = difference.thing, difference.what, difference.wanted.upper()
    on = f"{quote_name(thing.name)} ON {qualified(schema, thing.of)}"
    if is_disabled(difference) and what not in _ANEW:
        return _enabled(difference, on)
    if what in _INDEX_SET:
        return f"ALTER INDEX {on} SET ({_INDEX_SET[what]} = {value});"
    if what == "statistics":
        if difference.found == INCREMENTAL:
            return f"ALTER INDEX {on} REBUILD WITH (STATISTICS_INCREMENTAL = OFF);"
        return f"ALTER INDEX {on} SET (STATISTICS_NORECOMPUTE = OFF);"
    if what in _INDEX_REBUILD:
        return f"ALTER INDEX {on} REBUILD WITH ({_INDEX_REBUILD[what]} = {_option(what, value)});"
    if what in _ANEW:
        return together(_drop_index(difference, schema), _made(difference, schema))
    return None


def stands_in_the_place(difference: Difference) -> bool:
    """Whether it is a key of somebody's table, and has the name of one of ours."""
    others = difference.thing.kind == "index" and difference.thing.of not in object_names()
    return IN_PLACE in difference.has and others


def is_disabled(difference: Difference) -> bool:
    """Whether it is about an index that is switched off: nothing is SET on it then (1973)."""
    return difference.thing.kind == "index" and difference.has.get("in use") == OFF


def _enabled(difference: Difference, on: str) -> str | None:
    """REBUILD of an index that is switched off, with every option that is another one."""
    wants, has = difference.wants, difference.has
    if difference.what not in ("in use", "statistics", *_INDEX_SET, *_INDEX_REBUILD):
        return None
    words = {**_INDEX_REBUILD, **_INDEX_SET}
    others = [what for what in words if what in wants and wants[what] != has.get(what, wants[what])]
    options = [
        f"{words[what]} = {_option(what, wants[what])}" for what in others if what != "sequential"
    ]
    if wants["statistics"] != has["statistics"]:
        options += ["STATISTICS_INCREMENTAL = OFF"] * (has["statistics"] == INCREMENTAL)
        options += ["STATISTICS_NORECOMPUTE = OFF"] * (has["statistics"] != INCREMENTAL)
    rebuilt = f"ALTER INDEX {on} REBUILD" + (f" WITH ({', '.join(options)});" if options else ";")
    if "sequential" not in others:
        return rebuilt
    return (
        f"{rebuilt} ALTER INDEX {on} SET ({words['sequential']} = {wants['sequential'].upper()});"
    )


def _option(what: str, value: str) -> str:
    """As WITH has it; a fill factor of 0 is written as 100, the same (CREATE INDEX page)."""
    return "100" if (what, value) == ("fill factor", "0") else value.upper()


def _column(difference: Difference, schema: str) -> str | None:
    thing, wants = difference.thing, difference.wants
    table, column = qualified(schema, thing.of), quote_name(thing.name)
    if not difference.has:
        return None  # of a table type: it cannot be altered
    if difference.what == PLACE:
        one, other = difference.wanted, difference.found
        return named_back({one: other, other: one}, schema, thing.of)
    if difference.what in ("default", "default's name"):
        return together(no_default(difference, schema), default_of(difference, schema))
    if difference.what not in ("type", "nullable", "collation") or wants["identity"]:
        return None
    if "timestamp" in (wants["type"], difference.has["type"]):
        return None
    collation = ""
    if difference.what == "collation":
        collation = f" COLLATE {wants['collation'] or 'DATABASE_DEFAULT'}"
    null = "NULL" if wants["nullable"] == ON else "NOT NULL"
    return f"ALTER TABLE {table} ALTER COLUMN {column} {wants['type']}{collation} {null};"


def _queue(difference: Difference, schema: str) -> str | None:
    option = _QUEUE.get(difference.what)
    queue = qualified(schema, difference.thing.name)
    return f"ALTER QUEUE {queue} WITH {option};" if option else None


def _route(difference: Difference, schema: str) -> str | None:
    thing, what, value = difference.thing, difference.what, difference.wanted
    if what in _ROUTE and value:
        return f"ALTER ROUTE {quote_name(thing.name)} WITH {_ROUTE[what]} = {literal(value)};"
    if thing != LOCAL_ROUTE:
        return None
    return together("DROP ROUTE [AutoCreatedLocal];", _LOCAL)


def _module(difference: Difference, schema: str) -> str | None:
    thing = difference.thing
    if difference.found == HIDDEN:
        return f"DROP {module_kind(difference.wanted)} {qualified(schema, thing.name)};"
    if difference.what == "text":
        return _other_kind(difference, schema)
    if difference.what != "fires":
        return None
    return f"ENABLE TRIGGER {qualified(schema, thing.name)} ON {qualified(schema, thing.of)};"


def _other_kind(difference: Difference, schema: str) -> str | None:
    """DROP of a module that has another kind of module's name, which ALTER does not take (2010)."""
    there, wanted = module_kind(difference.found), module_kind(difference.wanted)
    same = there == wanted and wanted != "FUNCTION"  # there are three kinds of them
    return (
        None if same or not there else f"DROP {there} {qualified(schema, difference.thing.name)};"
    )


def _gate(difference: Difference, schema: str) -> str | None:
    return f"EXECUTE {quote_name(schema)}.[usp_OpenGate] @reason = N'...';"


def _mark(difference: Difference, schema: str) -> str | None:
    kind, name = difference.thing.name, difference.thing.of
    if kind not in MARKED_INSIDE:
        return None
    where = f"N'SCHEMA', {literal(schema)}, {literal(kind)}, {literal(name)}"
    value = literal(difference.wanted)
    return f"EXECUTE sys.sp_updateextendedproperty N'Redial.made', {value}, {where};"


_CHANGES: dict[str, Callable[[Difference, str], str | None]] = {
    "table": _table,
    "index": _index,
    "column": _column,
    "queue": _queue,
    "route": _route,
    "module": _module,
    "gate": _gate,
    "mark": _mark,
    "permission": made_plain,
}


def _owner(difference: Difference, schema: str) -> str:
    kind, name, _ = difference.thing
    if not difference.wanted:
        where = "TYPE" if kind == "type" else "OBJECT"
        return f"ALTER AUTHORIZATION ON {where}::{qualified(schema, name)} TO SCHEMA OWNER;"
    to = quote_name(difference.wanted)
    return f"ALTER AUTHORIZATION ON {kind.upper()}::{quote_name(name)} TO {to};"


def _missing(difference: Difference, schema: str) -> str | None:
    kind, name, of = difference.thing
    if alike := difference.has.get(ALIKE):
        old = literal(f"{qualified(schema, of)}.{quote_name(alike)}")
        return f"EXECUTE sys.sp_rename {old}, {literal(name)}, {literal(kind.upper())};"
    if kind == "index":
        return _made(difference, schema)
    if kind == "permission" and (user := difference.wants.get(written(GRANTEE))):
        return f"GRANT {CONNECT} TO {quote_name(user)};"
    if kind == "column" and AS_WRITTEN in difference.wants:
        return f"ALTER TABLE {qualified(schema, of)} ADD {difference.wants[AS_WRITTEN]};"
    if kind == "owned object":
        row = f"({literal(of)}, {literal(name)})"
        return f"INSERT INTO {qualified(schema, 'OwnedObject')} (Kind, Name) VALUES {row};"
    if kind == "mark" and name in MARKED_INSIDE:
        return f"EXECUTE {quote_name(schema)}.[usp_Mark] {literal(name)}, {literal(of)};"
    return _LOCAL if difference.thing == LOCAL_ROUTE else None


def _made(difference: Difference, schema: str) -> str | None:
    """As the files write it: a statement of its own, or a constraint of a table."""
    thing, wants = difference.thing, difference.wants
    written = wants.get(AS_WRITTEN)
    if written is None:
        return None
    table = qualified(schema, thing.of)
    made = f"{written};" if written.startswith("CREATE ") else f"ALTER TABLE {table} ADD {written};"
    if wants["sequential"] != ON:
        return made
    text = f"ALTER INDEX {quote_name(thing.name)} ON {table} SET ({_INDEX_SET['sequential']} = ON);"
    return f"{made} IF {_HAS_SEQUENTIAL} EXECUTE sys.sp_executesql {literal(text)};"


def _excess(difference: Difference, schema: str) -> str | None:
    thing = difference.thing
    kind, name = thing.kind, thing.name
    if kind == "permission":
        return taken_away(difference.has, schema)
    if kind == "index":
        return _drop_index(difference, schema)
    if kind == "column":
        return _drop_column(difference, schema)
    if kind == "module":
        what = module_kind(difference.found)
        return f"DROP {what} {qualified(schema, name)};" if what else None
    if kind == "signature":
        return _drop_signature(difference, schema)
    return _drop(thing, schema)


def _drop_signature(difference: Difference, schema: str) -> str | None:
    name = difference.thing.name.removeprefix("by ")
    if name == NO_KEY:
        return None
    form = difference.has["form"].upper()
    module = qualified(schema, difference.thing.of)
    return f"DROP {form} FROM {module} BY CERTIFICATE {quote_name(name)};"


def _drop(thing: Thing, schema: str) -> str | None:
    """DROP of what holds no rows and no dialogs, and of what a person drops who knows better."""
    kind, name, of = thing
    own, quoted = qualified(schema, name), quote_name(name)
    code = name.rpartition(" (")[2]
    objects = {"SN)": "SYNONYM", "SO)": "SEQUENCE"}
    if kind == "object":
        word = objects.get(code)
        return f"DROP {word} {qualified(schema, thing.object_name)};" if word else None
    if kind in ("check", "foreign key"):
        return f"ALTER TABLE {_named(schema, of)} DROP CONSTRAINT {quoted};"
    if kind == "mark of another configuration":
        on = next((one for one in _MARKED if of.startswith(f"{one} ")), None)
        where = f"{literal(on)}, {literal(of.removeprefix(f'{on} '))}" if on else ""
        return f"EXECUTE sys.sp_dropextendedproperty {literal(name)}, {where};" if on else None
    drops = {
        "statistics": f"DROP STATISTICS {qualified(schema, of)}.{quoted};",
        "trigger": f"DROP TRIGGER {_named(schema, name)};",
        "table": f"DROP TABLE {own};",
        "type": f"DROP TYPE {own};",
        "alias type": f"DROP TYPE {own};",
        "XML schema collection": f"DROP XML SCHEMA COLLECTION {own};",
        "security policy": f"DROP SECURITY POLICY {_named(schema, name)};",
        "route": f"DROP ROUTE {quoted};",
        "certificate": f"DROP CERTIFICATE {quoted};",
        "remote service binding": f"DROP REMOTE SERVICE BINDING {quoted};",
        "event notification": f"DROP EVENT NOTIFICATION {quoted} ON QUEUE {qualified(schema, of)};",
        "broker priority": f"DROP BROKER PRIORITY {quoted};",
        "queue": f"DROP QUEUE {own};",
        "contract": f"ALTER SERVICE {quote_name(of)} (DROP CONTRACT {quoted});" if of else None,
        "service": f"DROP SERVICE {quoted};",
        "schema": f"ALTER AUTHORIZATION ON SCHEMA::{quoted} TO [dbo];",
        "role membership": f"ALTER ROLE {quoted} DROP MEMBER {quote_name(of)};",
        "setting": f"DELETE FROM {qualified(schema, 'Setting')} WHERE Name = {literal(name)};",
        "gate": f"DELETE FROM {qualified(schema, 'Gate')} WHERE ConfigId = {name};",
    }
    return drops.get(kind)


_MARKED = ("SERVICE", "CONTRACT", "MESSAGE TYPE", "USER", "REMOTE SERVICE BINDING", "ROUTE")
"""What is in no schema and can have a mark, as sp_addextendedproperty calls it."""


def _drop_index(difference: Difference, schema: str) -> str | None:
    """Of an index, or of the constraint it belongs to; None of a table type's."""
    thing = difference.thing
    if not difference.has:
        return None
    table = qualified(schema, thing.of)
    constraint = difference.has["role"] in (PRIMARY, "unique constraint")
    if constraint and stands_in_the_place(difference):
        old = literal(f"{table}.{quote_name(thing.name)}")
        new = literal(f"{thing.name} of {thing.of}")
        return f"EXECUTE sys.sp_rename {old}, {new}, N'INDEX';"
    if constraint:
        return f"ALTER TABLE {table} DROP CONSTRAINT {quote_name(thing.name)};"
    return f"DROP INDEX {quote_name(thing.name)} ON {table};"


def _drop_column(difference: Difference, schema: str) -> str | None:
    thing = difference.thing
    if not difference.has:
        return None
    table, default = qualified(schema, thing.of), difference.has["default's name"]
    constraint = f"CONSTRAINT {quote_name(default)}, " if default else ""
    return f"ALTER TABLE {table} DROP {constraint}COLUMN {quote_name(thing.name)};"


def _since(difference: Difference) -> str | None:
    """Of what surrounds an installation."""
    kind, name = difference.thing.kind, difference.thing.name
    what, quoted, came = difference.what, quote_name(name), difference.found == "there"
    if what:
        if kind == OPTION:
            option = settable(name, difference.wanted)
            return f"ALTER DATABASE CURRENT SET {option};" if option else None
        if what == "owner":
            word, owner = kind.upper(), quote_name(difference.wanted)
            return f"ALTER AUTHORIZATION ON {word}::{quoted} TO {owner};"
        if (kind, what) == ("user", "default schema") and difference.wanted:
            return f"ALTER USER {quoted} WITH DEFAULT_SCHEMA = {quote_name(difference.wanted)};"
        if (kind, what) == (DATABASE_TRIGGER, "fires"):
            word = "ENABLE" if difference.wanted == ON else "DISABLE"
            return f"{word} TRIGGER {quoted} ON DATABASE;"
        return None
    if not came:
        return None
    if kind == DATABASE_PERMISSION:
        return taken_away(difference.has, "")
    return {
        DATABASE_TRIGGER: f"DROP TRIGGER {quoted} ON DATABASE;",
        DATABASE_NOTIFICATION: f"DROP EVENT NOTIFICATION {quoted} ON DATABASE;",
        ROUTE_OF_ALL: f"DROP ROUTE {quoted};",
        POWER: f"ALTER ROLE {quoted} DROP MEMBER {quote_name(difference.thing.of)};",
    }.get(kind)


_LOCAL = "CREATE ROUTE [AutoCreatedLocal] WITH ADDRESS = N'LOCAL';"


def _named(schema: str, name: str) -> str:
    """A name that may be of another schema, as things of the model are called."""
    other, dot, rest = name.partition(".")
    return qualified(other, rest) if dot else qualified(schema, name)
