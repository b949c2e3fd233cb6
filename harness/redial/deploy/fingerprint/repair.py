"""How a difference is undone, and who decides it.

Five ways: a file of the next deployment mends it; a statement does, which a deployment runs unasked: the
form of what is ours, of which no value is lost; a statement that a deployment runs with --undo only, for
somebody has added what it takes away, switched it off, or waits long for the table; or a person must, for
rows, dialogs or the whole database hang on it.
A text in the place of ours goes with --overwrite.
"""

from __future__ import annotations

import re

from redial.config.objects import object_names
from redial.deploy.fingerprint.compare import (
    ALIKE,
    CHANGED,
    EXCESS,
    EXCHANGED,
    IN_PLACE,
    MISSING,
    NOW_CALLED,
    OURS,
    PLACE,
    RENAMED,
    SEVERAL,
    SINCE,
    STAYS,
    TAKEN,
    Difference,
)
from redial.deploy.fingerprint.keys import LOCAL_ROUTE, MASTER_KEY, SIGNER
from redial.deploy.fingerprint.model import (
    AS_WRITTEN,
    DATABASE_OWNER,
    DENIED,
    GRANTEE,
    HIDDEN,
    MARKED_INSIDE,
    OFF,
    ON,
    OPTION,
    OWN_GATE,
    Thing,
    written,
)
from redial.deploy.fingerprint.statements import (
    is_disabled,
    stands_in_the_place,
    statement,
)
from redial.quoting import in_one_line, literal, qualified, quote_name, visible

FILES, UNASKED, ALLOWED, REPLACED, PERSON = "files", "unasked", "allowed", "replaced", "person"
"""The five ways."""
DEPLOY = "redial deploy makes it so again."
OVERWRITE = (
    "redial deploy makes it so again; redial plan says whether somebody has changed it by hand, which "
    "deploy undoes with --overwrite only."
)
ASK = (
    "ask who made it; redial deploy --undo runs this, or write down why it stays: sql/accepted.toml"
)
CHOSEN = "somebody has chosen it: redial deploy --undo runs this"
GAP = "\n  "
"""Between a difference of many lines and its next step."""
BY_FILES = {
    MISSING: frozenset(
        {"module", "table", "type", "queue", "service", "contract", "message type", "user", "role"}
        | {"role membership", "schema", "permission", "setting", "mark", "broker priority"}
        | {"event notification", "deployment", "agent job", "migration", "gate"}
        | {"certificate", "signature", "remote service binding", "route"}
    ),
    CHANGED: frozenset({"module", "setting", "broker priority", "deployment"}),
    EXCESS: frozenset({"deployment"}),
}
"""Kinds that the files mend whatever the property, by how they differ."""
PROPERTIES_BY_FILES = frozenset(
    {
        ("event notification", "conversation"),
        ("queue", "procedure"),
        ("queue", "readers"),
        ("queue", "execute as"),
        ("service", "queue"),
        ("message type", "validation"),
        ("message type", "schema"),
        ("route", "leads to"),
        ("certificate", "public key"),
        ("database", "Service Broker"),
    }
)
LANDING_ORDER = frozenset({"IX_Landing_Conversation", "IX_Landing_Key"})
"""Indexes that order_index of [landing] makes, and its absence drops."""
UNASKED_PROPERTIES = frozenset(
    {("column", "default"), ("column", "default's name"), ("index", "statistics")}
    | {("index", one) for one in ("row locks", "page locks", "ignores duplicates", "sequential")}
    | {("table", "lock escalation")}
    | {("event notification", one) for one in ("events", "service", "other broker")}
    | {("queue", "retention"), ("queue", "poison handling"), ("module", "fires")}
    | {("remote service binding", "user"), ("remote service binding", "anonymous")}
    | {("route", "service"), ("route", "address"), ("certificate", "for dialogs")}
)
"""Neither rows nor rights nor anybody's choice hang on them. An owner too (``way``)."""
_CAUTION = {
    "delayed durability": "until then a crash loses messages that were committed",
    "auto close": "until then nothing is activated while nobody is connected",
    "read only": "the database's owner decides",
    "open to": "until then users, or readers, do not come in",
    "compatibility level": "when your application was tried at it",
    MASTER_KEY: "with the password of the key; until then no message goes to the other database",
}
"""Options are the database's owner's, so a person decides."""
_HOLDS = {
    "column": "what is in it goes for ever",
    "table": "its rows go for ever",
    "service": "it ends every dialog of that service with an error",
    "queue": "its messages go for ever",
    "certificate": "what is signed or encrypted with it goes with it",
    "security policy": "whoever made it hides rows on purpose",
    "schema": "until then the files' check refuses a deployment",
    "mark of another configuration": "it goes when that configuration is gone, which uninstall sees to",
}
"""In excess, and dropped by nobody but a person."""
STAMP = "/* Redial "
"""How the comment begins by which a deployment knows a module as ours (05_preflight)."""


def way(difference: Difference) -> str:
    """One of the five."""
    thing, how, what = difference.thing, difference.how, difference.what
    if by_files(difference):
        return FILES
    if (thing.kind, what) == ("module", "text") and difference.found != HIDDEN:
        return REPLACED
    if (
        how in (SINCE, RENAMED, EXCHANGED) or what == PLACE or statement(difference, "") is None
    ):  # whatever the schema's name
        return PERSON
    if how == EXCESS:
        if thing.kind == "setting":
            return UNASKED
        alone = _stands_alone(thing) or stands_in_the_place(difference)
        return PERSON if thing.kind in _HOLDS or alone else ALLOWED
    if ALIKE in difference.has and thing.kind == "column":
        return PERSON if SEVERAL in difference.has else ALLOWED
    if how == MISSING:
        if _unknown_as_ours(difference) or thing.kind == "owned object":
            return PERSON
        if _gets_values(difference):
            return ALLOWED
        return UNASKED if _can_be_added(difference) else PERSON
    if thing == LOCAL_ROUTE:
        return ALLOWED
    if thing.kind in ("database", "gate") or difference.found == HIDDEN:
        return PERSON
    if what == "owner" and thing.kind == "schema":
        return ALLOWED
    if what == "owner" or (thing.kind, what) in UNASKED_PROPERTIES or _loses_nothing(difference):
        return UNASKED
    return ALLOWED


def ways_of(overwrite: bool, undo: bool) -> tuple[str, ...]:
    """Ways whose statements a deployment runs that is told so."""
    return (UNASKED, *[ALLOWED] * undo, *[REPLACED] * overwrite)


def advised(difference: Difference, schema: str, sql: str | None = None) -> str:
    """A difference, and what to do about it. sql: as ``next_step`` has it."""
    said = str(difference)
    gap = GAP if "\n" in said else ". "
    step = visible(next_step(difference, schema, sql))
    return f"{said}{gap}Who may: {who_may(difference)}. Next: {step}"


def who_may(difference: Difference) -> str:
    """Whose right is enough to mend it."""
    kind = difference.thing.kind
    if difference.thing == DATABASE_OWNER:
        return (
            "a member of sysadmin, or whoever may take the database over and impersonate that login"
        )
    if kind in ("database", OPTION):
        return "the database's owner, or whoever may ALTER it"
    if kind == "gate" and difference.how == CHANGED:
        return "a member of our operator role, or db_owner"
    return "db_owner"


def next_step(difference: Difference, schema: str, sql: str | None = None) -> str:
    """What to do about a difference, one sentence or one statement.

    sql: the statement, where more is known than the difference says of it (``whole``).
    """
    if difference.how == RENAMED:
        return _named_again(difference, schema)
    sql, how = sql or statement(difference, schema), way(difference)
    sql = in_one_line(sql) if sql else None
    if difference.how == SINCE:
        keep = "when it is meant to be so, redial baseline, which keeps it as it is now."
        return f"{sql} /* or, {keep} */" if sql else f"undo it; or, {keep}"
    if how == REPLACED:
        dropped = f" It is dropped first. {_RIGHTS_TOO}." if sql else ""
        return (
            "redial deploy --overwrite replaces it. It has lost our comment and may be somebody's: look at "
            f"its text first.{dropped}"
        )
    if how == FILES or TAKEN in difference.has:
        return _by_files(difference)
    if sql is None:
        return _by_nobody(difference)
    if how == UNASKED:
        return f"{DEPLOY} It runs: {sql}"
    return f"{sql} /* {_why(difference, how)} */"


_RIGHTS_TOO = (
    "Every right on it goes with it: redial deploy gives ours again, write down who has the others"
)
"""Of a DROP that makes room for ours."""


def _why(difference: Difference, how: str) -> str:
    """Why no deployment runs a statement unasked, for a comment behind it."""
    kind, what = difference.thing.kind, difference.what
    if how == PERSON:
        if kind == "database":
            return _CAUTION[what]
        if difference.found == HIDDEN:
            return (
                "look with a login that has VIEW DEFINITION. If it is encrypted, somebody has replaced it: "
                f"ask who, drop it, and redial deploy makes ours. {_RIGHTS_TOO}"
            )
        if kind == "gate":
            return "when what it was closed for is over"
        if difference.how == EXCHANGED:
            return "until then a deployment is refused; look at what has come into them meanwhile"
        if difference.what == PLACE:
            return (
                "if that was it: their order, and no more, says so. When the table was made again in this "
                "order, write it down: sql/accepted.toml"
            )
        if stands_in_the_place(difference):
            return "ask who made it: it has the name of a key of ours, so a deployment is refused"
        if difference.how == EXCESS:
            return f"ask who made it: {_HOLDS.get(kind, _ALONE)}; no deployment does this"
        if SEVERAL in difference.has:
            anew = difference.wants.get(AS_WRITTEN, "")
            return (
                f"or another of them, whichever it was; if it was none: ALTER TABLE .. ADD {anew};"
            )
        if kind in ("mark", "owned object"):
            return "when it is ours: without this a deployment refuses it (50208)"
        return "first decide what its rows get: the column takes no NULL and has no default"
    if difference.found == DENIED:
        return f"takes the DENY away: ask who denied it, and why. {CHOSEN}"
    if kind == "schema":
        return (
            "every right on what is in it goes: this gives those of others again, redial deploy ours. "
            f"{CHOSEN}"
        )
    if kind == "queue":
        return f"ask who has switched it off, and why. {CHOSEN}"
    if difference.thing == LOCAL_ROUTE:
        return "unless routes of yours do it. redial deploy --undo runs this"
    if difference.how == EXCESS:
        return ASK
    if ALIKE in difference.has:
        return f"if that was it: its values become those of ours. {CHOSEN}"
    if difference.how == MISSING and kind == "column":
        return f"rows that are there get values that were not theirs. {CHOSEN}"
    if kind in ("column", "index"):
        return f"takes the table for itself, and longer with more rows. {CHOSEN}"
    return CHOSEN


def _by_files(difference: Difference) -> str:
    """What the files of a deployment do about it."""
    thing = difference.thing
    if taken := difference.has.get(TAKEN):
        both = "" if STAYS in difference.has else ", or redial deploy --undo, which does both"
        return (
            f"the name is taken by {taken}, which must go first: see what is said of it; then redial "
            f"deploy{both}."
        )
    if others := difference.has.get(NOW_CALLED):
        return (
            f"a deployment is refused as long as {others} is there, which may be this one with its rows: do "
            "what is said of it first, then redial deploy."
        )
    if thing.kind == "module" and difference.what == "text":
        return OVERWRITE
    if thing.kind == "signature":
        return f"redial deploy signs {thing.of} again; until then it lacks the rights of db_owner."
    if thing.kind == "deployment" and thing.name != "last":
        return "redial deploy goes on where the one before stopped, and opens the gate."
    return DEPLOY


def _by_nobody(difference: Difference) -> str:
    """What a person must do for whom no statement can be written."""
    kind, name, of = difference.thing
    if difference.how == EXCESS and kind == "migration":
        return "deploy with the version that has this migration; an older one refuses (50225)."
    if difference.how == EXCESS:
        return "ask who made it; drop it, or write down why it stays: sql/accepted.toml."
    if kind == "deployment":
        return "redial repair writes that row anew, where all is as the files make it."
    return f"a person must: {_REASONS.get((kind, difference.what), _COPY)} ({of or name})."


_COPY = "it cannot be altered: copy the rows, drop it, redial deploy, and copy them back"
_MADE_OTHERWISE = "drop the user when nothing of its own is left, and redial deploy makes ours"
_REASONS = {
    (
        "message type",
        "sent by",
    ): "a contract cannot be altered: give it a new name, and list the old "
    "one under contract.previous",
    ("user", "logs in by"): _MADE_OTHERWISE,
    ("user", "of type"): _MADE_OTHERWISE,
    ("type", "kept in"): "drop what uses it, and the type; redial deploy makes them again",
    ("index", "partitions"): "only whoever has partitioned it knows where its rows belong",
    ("mark", "configuration"): "two configurations say it is theirs: find out whose it is",
}


def _named_again(difference: Difference, schema: str) -> str:
    """What to do about a table of ours with another name."""
    there, name = difference.found, difference.thing.name
    if there:
        name = name.removeprefix(f"{there}.")
    if not difference.wanted:
        said = (
            f"look at the rows of {difference.thing.name}: what a deployment has made since has the name. "
            "Move what is wanted, and drop it"
        )
        where = f"N'SCHEMA', {literal(there)}, N'TABLE', {literal(name)}"
        mark = (
            "; or take the mark away, when it is to stay: "
            f"EXECUTE sys.sp_dropextendedproperty N'Redial.made', {where};"
        )
        return said + (mark if there else ".")
    if not there:
        return _another_name(qualified(schema, name), difference.wanted)
    back = f"ALTER SCHEMA {quote_name(schema)} TRANSFER {qualified(there, name)};"
    if difference.wanted == name:
        return back
    return f"{back} {_another_name(qualified(schema, name), difference.wanted)}"


def _another_name(table: str, missing: str) -> str:
    """missing: of which it is one."""
    new, *more = missing.split(", ")
    if more:
        return f"EXECUTE sys.sp_rename {literal(table)}, N'one of {missing}', whichever it was."
    return f"EXECUTE sys.sp_rename {literal(table)}, {literal(new)};"


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
    ours = ours and IN_PLACE not in difference.has
    return difference.how == EXCESS and thing.kind == "module" and ours


_ALONE = "it stands by itself, and an application may use it"


def _stands_alone(thing: Thing) -> bool:
    """Whether it is somebody's and neither part of what is ours nor in the way of a name of ours."""
    if thing.kind == "permission":
        return thing.of == "SCHEMA dbo"
    alone = thing.kind in ("object", "alias type", "type", "XML schema collection")
    alone = alone or (thing.kind == "module" and not thing.of)
    return alone and thing.object_name not in object_names()


def _unknown_as_ours(difference: Difference) -> bool:
    """Whether what has lost its mark has nothing else by which a deployment knows it (50208)."""
    thing = difference.thing
    alone = thing.name in MARKED_INSIDE and thing.name != "QUEUE"  # that has a reader of ours
    return difference.how == MISSING and thing.kind == "mark" and alone


_INDEX_FORM = frozenset({"columns", "included", "filter", "unique", "in use"})
"""Of an index beside the rows; fill factor, padding and compression are chosen for their pages."""
_GROW = ("nvarchar", "varchar", "varbinary")
"""Types of which ALTER COLUMN refuses a value that does not fit (its page); a time would be rounded."""


def _loses_nothing(difference: Difference) -> bool:
    """Whether a column or index of ours gets its form back and every value stays, or it fails and says so."""
    kind, what = difference.thing.kind, difference.what
    wants, has = difference.wants, difference.has
    if kind == "index":
        form = what in _INDEX_FORM or is_disabled(difference)
        return form and ON not in (wants["clustered"], has["clustered"])
    if kind != "column" or what not in ("type", "nullable", "collation"):
        return False
    base = {own["type"].partition("(")[0] for own in (wants, has)}
    if what == "collation" and not all(one.startswith(("n", "sysname")) for one in base):
        return False  # another code page has not every letter
    return len(base) == 1 and (wants["type"] == has["type"] or base <= set(_GROW))


def _can_be_added(difference: Difference) -> bool:
    """Whether nothing is said of the rows that are there."""
    wants = difference.wants
    if difference.thing.kind != "column":
        return True
    return AS_WRITTEN in wants and (wants["nullable"] == ON or wants["type"] == "timestamp")


def _gets_values(difference: Difference) -> bool:
    """Whether rows that are there get values that were not theirs."""
    wants = difference.wants
    column = difference.thing.kind == "column" and AS_WRITTEN in wants
    return column and bool(wants["default"] or wants["identity"])


def by_files(difference: Difference) -> bool:
    """Whether the files of the next deployment mend it."""
    thing, what = difference.thing, difference.what
    if difference.how in (SINCE, RENAMED, EXCHANGED) or _stampless(difference):
        return False
    if written(GRANTEE) in difference.wants:
        return False  # CREATE USER gives it, and the user is there
    if thing.kind == "module" and what in ("fires", "owner"):
        return False  # CREATE OR ALTER leaves both as they are
    if SIGNER in thing.name or SIGNER in thing.of:
        return True  # a deployment makes another certificate and drops those before it
    if thing == LOCAL_ROUTE or _unknown_as_ours(difference):
        return False
    if thing.kind == "deployment" and difference.how == CHANGED:
        return what == "content"  # 90_deployment writes a row for other files only
    if thing.kind == "gate" and OWN_GATE in difference.has:
        return True
    if thing.kind in BY_FILES[difference.how] or _of_another_choice(difference):
        return True
    if _of_landing_choice(difference) or _of_monitoring_choice(difference):
        return True
    if thing.kind == "queue" and what == "activation":
        return difference.found != OFF  # one that somebody has switched off stays off (87_queues)
    return difference.how == CHANGED and (thing.kind, what) in PROPERTIES_BY_FILES


def _of_monitoring_choice(difference: Difference) -> bool:
    """Whether it tells our own service, or is a priority written down as ours: other choices drop it."""
    if difference.how != EXCESS:
        return False
    if difference.thing.kind == "broker priority":
        return OURS in difference.has
    if difference.thing.kind != "event notification":
        return tells_of_trouble(difference.thing)
    service = _TROUBLE.fullmatch(difference.has["service"])
    return service is not None and difference.thing.name == f"redial_{service[1]}_trouble"


def tells_of_trouble(thing: Thing) -> bool:
    """Whether it is the service of notify_queue_off."""
    return thing.kind == "service" and _TROUBLE.fullmatch(thing.name) is not None


_TROUBLE = re.compile("redial/(.*)/trouble")
"""Name of that service, with the configuration's in it."""


def _of_landing_choice(difference: Difference) -> bool:
    """Whether [landing] of the configuration makes or drops it, or rewrites the table for it."""
    kind, name, of = difference.thing
    if (kind, of) != ("index", "Landing"):
        return False
    return difference.what == "compression" or (difference.how != CHANGED and name in LANDING_ORDER)
