"""What a server's catalog holds of an installation, asked in two round trips."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from redial.deploy.fingerprint.expressions import condition_text, module_text, value_text
from redial.deploy.fingerprint.model import HIDDEN, Catalog, Thing, switch
from redial.deploy.fingerprint.queries import contents, jobs, questions
from redial.deploy.fingerprint.tables import PRIMARY
from redial.deploy.fingerprint.wanted import HISTORY
from redial.odbc import server_message
from redial.quoting import quote_name

NAMED = ("user", "role", "service", "contract", "message type", "broker priority", "route")
"""Kinds that are in no schema: they are asked for by the names the files want."""
OWNED = "OwnedObject"
"""The table of what a configuration made that cannot carry a mark."""
BOUND = {"nvarchar", "nchar"}
_COUNTED = frozenset({"varbinary", "binary", "varchar", "char", "nvarchar", "nchar"})
_SCALED = frozenset({"datetime2", "time", "datetimeoffset"})
_MARKED = {3: "SCHEMA", 4: "USER", 6: "TYPE", 15: "MESSAGE TYPE", 16: "CONTRACT", 17: "SERVICE"}
_CLASSES = {
    "OBJECT_OR_COLUMN": "OBJECT",
    "DATABASE_PRINCIPAL": "USER",
    "SERVICE_CONTRACT": "CONTRACT",
}
_VALIDATIONS: dict[str, str] = {"N": "none", "E": "empty", "X": "xml"}
_STATES = {"G": "grant", "D": "deny", "W": "grant with option", "R": "revoke"}

OWNED_BY_THE_SCHEMA = ("table", "module", "queue")
"""Kinds whose things have no owner of their own; one that has breaks the chain of ownership."""
TABLE_KINDS = {
    "is_memory_optimized": "in memory",
    "temporal_type": "temporal",
    "is_tracked_by_cdc": "change data capture",
    "is_replicated": "replicated",
    "is_merge_published": "merge replication",
    "lock_on_bulk_load": "table lock on bulk load",
    "large_value_types_out_of_row": "large values out of row",
    "text_in_row_limit": "text in row",
    "is_remote_data_archive_enabled": "stretched",
}
COLUMN_KINDS = {
    "is_rowguidcol": "rowguidcol",
    "is_sparse": "sparse",
    "is_masked": "masked",
    "is_hidden": "hidden",
    "is_filestream": "filestream",
    "is_replicated": "replicated",
    "is_column_set": "column set",
}
"""What ours never are: a column of the catalog, and its word here."""

Row = dict[str, Any]  # values as the driver gives them
Answers = dict[str, list[Row]]


class CannotSee(Exception):
    """The login may not see enough: what is hidden from it would be called missing."""

    def __init__(self, user: str, database: str, what: str, grant: str) -> None:
        super().__init__(
            f"user {user!r} may not see {what} in database {database!r}, so nothing can be said. "
            f"Next: GRANT {grant} TO {quote_name(user)};"
        )


NOT_ALLOWED = 229
"""A right is missing (sys.messages)."""


def found(connection: Any, schema: str, files: Catalog) -> Catalog:
    """What is there, by the same names as ``files`` (of ``wanted``), and what is there besides.

    connection: a DB-API connection, of the database looked at. Raises CannotSee, and the driver's errors.
    """
    names = [thing.name for thing in files if thing.kind in NAMED and not thing.of]
    sql, called = questions(schema, names)
    answers = dict(zip(called, _run(connection, sql), strict=True))
    [database] = answers["database"]
    asked = database["who"], database["name"]
    if not database["sees"]:
        raise CannotSee(*asked, "the definitions", "VIEW DEFINITION")
    insensitive = "_CS_" not in database["collation"] and "_BIN" not in database["collation"]
    reader = _Reader(schema, answers, files if insensitive else {})
    if {"Setting", "Gate", HISTORY} <= {row["name"] for row in answers["tables"]}:
        try:
            reader.contents(*_run(connection, contents(schema)))
        except Exception as error:
            if server_message(error)[0] != NOT_ALLOWED:
                raise
            own = quote_name(schema)
            raise CannotSee(*asked, f"the tables of {own}", f"SELECT ON SCHEMA::{own}") from error
    tasks = [thing.name for thing in files if thing.kind == "agent job"]
    if tasks and Thing("table", OWNED) in reader.catalog:
        [rows] = _run(connection, jobs(schema))
        reader.jobs(tasks, rows)
    _same_collation(reader.catalog, files, database["collation"])
    return reader.catalog


def _same_collation(catalog: Catalog, files: Catalog, usual: str) -> None:
    """A column for which the files name no collation has the database's."""
    for thing, own in catalog.items():
        if own.get("collation") == usual and not files.get(thing, own).get("collation"):
            own["collation"] = ""


def _run(connection: Any, sql: str) -> list[list[Row]]:
    """Every result set of a batch, rows by name."""
    sets: list[list[Row]] = []
    with closing(connection.cursor()) as cursor:
        cursor.execute(sql)
        while True:
            if cursor.description is not None:
                names = [column[0] for column in cursor.description]
                sets.append([dict(zip(names, row, strict=True)) for row in cursor.fetchall()])
            if not cursor.nextset():
                return sets


class _Reader:
    """Makes things of rows."""

    def __init__(self, schema: str, answers: Answers, files: Catalog) -> None:
        """files: whose spelling of users and roles counts; empty where case matters."""
        self.schema = schema
        self.spelled = {t.name.lower(): t.name for t in files if t.kind in ("user", "role")}
        self.any_case = bool(files)
        self.answers = answers
        self.catalog: Catalog = {}
        self.owners: dict[str, str] = {}
        self._principals()
        self._objects()
        self._columns()
        self._indexes()
        self._modules()
        self._queues()
        self._services()
        self._permissions()
        self._marks()
        for thing, own in self.catalog.items():
            if thing.kind in OWNED_BY_THE_SCHEMA:
                own["owner"] = self.owners.get(thing.name, "")

    def put(self, kind: str, name: str, of: str = "", **properties: str) -> None:
        """Note a thing."""
        words = {key.replace("_", " "): value for key, value in properties.items()}
        self.catalog.setdefault(Thing(kind, name, of), {}).update(words)

    def who(self, name: str | None) -> str:
        """A user or role as the files spell it."""
        return self.spelled.get((name or "").lower(), name or "")

    def contents(self, settings: list[Row], gates: list[Row], history: list[Row]) -> None:
        """Rows that are part of an installation."""
        for row in settings:
            self.put("setting", row["Name"], value=row["Value"] or "")
        for row in gates:
            why = "" if row["IsOpen"] else f" by {row['ChangedBy']} ({row['Reason']})"
            state = ("open" if row["IsOpen"] else "closed") + why
            self.put("gate", str(row["ConfigId"]), state=state)
        for row in history:
            self.put("deployment", "last", content=row["ContentHash"].strip())

    def jobs(self, tasks: list[str], rows: list[Row]) -> None:
        """Agent jobs by their tasks; where there is no Agent to ask, they are left to whoever runs them."""
        for task in tasks:
            made = [row for row in rows if not row["can"] or f": {task}, " in row["Name"]]
            if any(not row["can"] or row["there"] for row in made):
                self.put("agent job", task)

    def _principals(self) -> None:
        for row in self.answers["schema"]:
            self.put("schema", self.schema, owner=self.who(row["owner"]))
        for row in self.answers["principals"]:
            if row["type"].strip() == "R":
                self.put("role", self.who(row["name"]))
            else:
                self.put(
                    "user", self.who(row["name"]), logs_in_by=(row["authentication"] or "").lower()
                )
        for row in self.answers["members"]:
            self.put("role membership", row["role"], self.who(row["member"]))

    def _objects(self) -> None:
        for row in self.answers["tables"]:
            self.put(
                "table",
                row["name"],
                lock_escalation=row["lock_escalation_desc"].lower(),
                special=_special(row, TABLE_KINDS),
            )
        for row in self.answers["types"]:
            kind = "type" if row["is_table_type"] else "alias type"
            self.put(kind, row["name"], owner=self.who(row["owner"]))
        modules = {row["name"] for row in self.answers["modules"]}
        for row in self.answers["objects"]:
            kind = row["type"].strip()
            self.owners[row["name"]] = self.who(row["owner"])
            if kind not in ("U", "SQ") and row["name"] not in modules:
                self.put("object", f"{row['name']} ({kind})")
        for row in self.answers["foreign keys"]:
            owner = self._named(row["schema_name"], row["owner"])
            self.put("foreign key", row["name"], owner, to=row["to_table"])
        for row in self.answers["checks"]:
            self.catalog[Thing("check", row["name"], row["owner"])] = {
                "condition": condition_text(row["definition"] or ""),
                "in force": switch(not row["is_disabled"]),
                "trusted": switch(not row["is_not_trusted"]),
            }

    def _columns(self) -> None:
        for row in self.answers["columns"]:
            default = row["default_value"]
            self.catalog[Thing("column", row["name"], row["owner"])] = {
                "type": _type_text(row),
                "nullable": switch(row["is_nullable"]),
                "identity": switch(row["is_identity"]),
                "computed": value_text(row["computed"]) if row["computed"] else "",
                "default": value_text(default) if default else "",
                "default's name": row["default_name"] or "",
                "collation": row["collation_name"] or "",
                "special": _special(row, COLUMN_KINDS),
            }

    def _indexes(self) -> None:
        columns: dict[tuple[int, int], list[Row]] = {}
        for row in self.answers["index columns"]:
            columns.setdefault((row["object_id"], row["index_id"]), []).append(row)
        types = {row["name"] for row in self.answers["types"]}
        marked = {(row["object_id"], row["index_id"]) for row in self.answers["sequential"]}
        for row in self.answers["indexes"]:
            place = row["object_id"], row["index_id"]
            own = {
                "role": PRIMARY
                if row["is_primary_key"]
                else "unique constraint"
                if row["is_unique_constraint"]
                else "index",
                "unique": switch(row["is_unique"]),
                "clustered": switch(row["type"] == 1),
                "columns": ", ".join(
                    one["name"] + (" descending" if one["is_descending_key"] else "")
                    for one in columns.get(place, ())
                    if not one["is_included_column"]
                ),
                "included": ", ".join(
                    sorted(o["name"] for o in columns.get(place, ()) if o["is_included_column"])
                ),
                "filter": condition_text(row["filter_definition"] or "")
                if row["filter_definition"]
                else "",
                "row locks": switch(row["allow_row_locks"]),
                "page locks": switch(row["allow_page_locks"]),
                "ignores duplicates": switch(row["ignore_dup_key"]),
                "padded": switch(row["is_padded"]),
                "fill factor": str(row["fill_factor"]),
                "in use": switch(not row["is_disabled"]),
            }
            if (None, None) not in marked:
                own["sequential"] = switch(place in marked)
            name = PRIMARY if row["owner"] in types and row["is_primary_key"] else row["name"]
            self.catalog[Thing("index", name, row["owner"])] = own

    def _modules(self) -> None:
        for row in self.answers["modules"]:
            own = {
                "text": HIDDEN if row["definition"] is None else module_text(row["definition"]),
                "ANSI_NULLS": switch(row["uses_ansi_nulls"]),
                "QUOTED_IDENTIFIER": switch(row["uses_quoted_identifier"]),
            }
            trigger = row["type"].strip() == "TR"
            if trigger:
                own["fires"] = switch(not row["is_disabled"])
            on = (row["parent"] or "") if trigger else ""
            self.catalog[Thing("module", row["name"], on)] = own
        for row in self.answers["triggers"]:
            name = self._named(row["schema_name"], row["name"])
            if name != row["name"]:
                self.put("trigger", name, row["owner"])

    def _queues(self) -> None:
        for row in self.answers["queues"]:
            self.put(
                "queue",
                row["name"],
                receive=switch(row["is_receive_enabled"]),
                enqueue=switch(row["is_enqueue_enabled"]),
                retention=switch(row["is_retention_enabled"]),
                poison_handling=switch(row["is_poison_message_handling_enabled"]),
                activation=switch(row["is_activation_enabled"]),
                procedure=self._named(row["procedure_schema"], row["procedure_name"] or ""),
                readers=str(row["max_readers"] or 0),
                execute_as=self.who(row["execute_as"]),
            )
        for row in self.answers["routes"]:
            self.put("route", row["name"])
        for row in self.answers["event notifications"]:
            thing = Thing("event notification", row["name"], row["queue"])
            own = self.catalog.setdefault(thing, {"events": "", "service": row["service_name"]})
            events = [one for one in (own["events"], row["type_desc"]) if one]
            own["events"] = ", ".join(sorted(events))

    def _services(self) -> None:
        for row in self.answers["services"]:
            queue = self._named(row["queue_schema"], row["queue"])
            self.put("service", row["name"], owner=self.who(row["owner"]), queue=queue)
        for row in self.answers["contracts of services"]:
            self.put("contract", row["contract"], row["service"])
        for row in self.answers["contracts"]:
            self.put("contract", row["name"], owner=self.who(row["owner"]))
        for row in self.answers["messages of contracts"]:
            both = row["is_sent_by_initiator"] and row["is_sent_by_target"]
            by = "any" if both else "initiator" if row["is_sent_by_initiator"] else "target"
            self.put("message type", row["message_type"], row["contract"], sent_by=by)
        for row in self.answers["message types"]:
            self.put(
                "message type",
                row["name"],
                owner=self.who(row["owner"]),
                validation=_VALIDATIONS[row["validation"].strip()],
                schema=row["xml_schema"] or "",
            )
        for row in self.answers["broker priorities"]:
            self.put(
                "broker priority",
                row["name"],
                contract=row["contract"] or "ANY",
                local_service=row["local_service"] or "ANY",
                remote_service=row["remote_service_name"] or "ANY",
                level=str(row["priority"]),
            )

    def _permissions(self) -> None:
        for row in self.answers["permissions"]:
            kind = _CLASSES.get(row["class_desc"], row["class_desc"].replace("_", " "))
            name = row["other_name"] or ""
            if kind == "OBJECT":
                name = self._named(row["schema_name"], row["object_name"])
            if row["minor_id"]:
                name += f" ({row['column_name']})"
            usual = row["permission_name"] == "CONNECT" and row["state"].strip() == "G"
            if kind == "DATABASE" and usual:
                continue
            where = kind if kind == "DATABASE" else f"{kind} {name}"
            self.put(
                "permission",
                f"{row['permission_name']} to {self.who(row['grantee'])}",
                where,
                state=_STATES[row["state"].strip()],
            )

    def _marks(self) -> None:
        for row in self.answers["marks"]:
            kind = _MARKED.get(row["class"])
            if row["class"] == 1:
                kind = "QUEUE" if (row["type"] or "").strip() == "SQ" else "TABLE"
            name = self.who(row["name"]) if kind == "USER" else row["name"]
            self.put("mark", kind or "?", name)

    def _named(self, schema: str | None, name: str | None) -> str:
        ours = self.schema.lower() if self.any_case else self.schema
        own = schema is None or (schema.lower() if self.any_case else schema) == ours
        return "?" if name is None else name if own else f"{schema}.{name}"


def _special(row: Row, kinds: dict[str, str]) -> str:
    """What a table or column is besides, in words."""
    return ", ".join(word for column, word in kinds.items() if row[column])


def _type_text(row: Row) -> str:
    """A column's type with its length or scale."""
    name: str = row["type_name"]
    if name in _COUNTED:
        length = row["max_length"]
        shown = "max" if length == -1 else str(length // (2 if name in BOUND else 1))
        return f"{name}({shown})"
    if name in _SCALED:
        return f"{name}({row['scale']})"
    if name in ("decimal", "numeric"):
        return f"{name}({row['precision']}, {row['scale']})"
    return name
