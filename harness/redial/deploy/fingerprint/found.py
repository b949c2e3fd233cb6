"""What a server's catalog holds of an installation, asked in two round trips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from redial.deploy.fingerprint.expressions import module_text
from redial.deploy.fingerprint.found_rights import powerful, rights
from redial.deploy.fingerprint.found_tables import check, columns, indexes, table
from redial.deploy.fingerprint.keys import (
    DATABASE,
    GUID,
    LEVEL_IS_ENOUGH,
    LOCAL_ROUTE,
    LOWEST_LEVEL,
    MASTER_KEY,
    NO_KEY,
    NOBODY,
    SIGNER,
)
from redial.deploy.fingerprint.lookers import GUEST, definitions_for, rights_to_look
from redial.deploy.fingerprint.model import (
    CONNECT,
    DATABASE_NOTIFICATION,
    DATABASE_TRIGGER,
    ELSEWHERE,
    GRANTED,
    GRANTEE,
    HIDDEN,
    MADE,
    MARKED_INSIDE,
    MEMBER,
    ON,
    OPTION,
    OWN_GATE,
    PERMISSION,
    POWER,
    REMOVED,
    ROUTE_OF_ALL,
    UNREAD,
    Catalog,
    Thing,
    switch,
)
from redial.deploy.fingerprint.queries import CONTENTS, Row, contents, jobs, questions, sets_of
from redial.deploy.fingerprint.spelling import respell
from redial.deploy.fingerprint.surroundings import OPTIONS_QUESTION, option_name
from redial.deploy.fingerprint.wanted import HISTORY, OWNED
from redial.odbc import NOT_ALLOWED, server_message
from redial.quoting import quote_name

NAMED = (
    *("user", "role", "service", "contract", "message type", "broker priority", "route"),
    *("certificate", "remote service binding"),
)
"""Kinds that are in no schema: they are asked for by the names the files want."""
_MARKED = {3: "SCHEMA", 4: "USER", 6: "TYPE", 15: "MESSAGE TYPE", 16: "CONTRACT", 17: "SERVICE"}
_VALIDATIONS: dict[str, str] = {"N": "none", "E": "empty", "X": "xml"}

_PRIVATE_KEYS = {"NA": NOBODY, "MK": "master key", "PW": "password", "SK": "service master key"}
INTERRUPTED = "deployment.gate"
"""The row of Setting by which a deployment knows that it closed the gate itself (78_operator)."""

OWNED_BY_THE_SCHEMA = ("table", "module", "queue")
"""Kinds whose things have no owner of their own; one that has breaks the chain of ownership."""
Answers = dict[str, list[Row]]


class CannotSee(Exception):
    """The login may not see enough: what is hidden from it would be called missing."""

    def __init__(self, user: str, database: str, version: str, what: str, grants: str) -> None:
        super().__init__(
            f"user {user!r} may not see {what} in database {database!r}, so nothing can be said. "
            f"Next: let a member of db_owner look, or give the right: {grants}"
        )
        self.database = database
        self.version = version
        """The server's @@VERSION."""


@dataclass(frozen=True)
class Found:
    """What was seen of one database."""

    catalog: Catalog
    database: str
    version: str
    """The server's @@VERSION."""
    server: str
    """Its name."""
    known: str = ""
    """What the last deployment kept of its surroundings, as text; empty: nothing."""
    seconds: int | None = None
    """How long the last deployment took; None: not known."""
    unfinished: bool = False
    """Whether the last deployment has not come to its end."""
    rows: list[list[Row]] = field(default_factory=list)
    """Answers to the further questions."""


def found(
    connection: Any, schema: str, files: Catalog, signer: str, further: Sequence[str] = ()
) -> Found:
    """What is there, by the same names as ``files`` (of ``wanted``), and what is there besides.

    connection: a DB-API connection, of the database looked at. signer: ``signer_prefix``. further:
    SELECTs to ask at the same time. Two round trips. Raises CannotSee, and the driver's errors.
    """
    names = [thing.name for thing in files if thing.kind in NAMED and not thing.of]
    sql, called = questions(schema, names, signer)
    answers = dict(zip(called, sets_of(connection, sql), strict=True))
    [database] = answers["database"]
    who = database["who"], database["name"], database["version"]
    if not database["sees"]:
        raise CannotSee(*who, "the definitions", definitions_for(database["who"]))
    insensitive = "_CS_" not in database["collation"] and "_BIN" not in database["collation"]
    principals = [thing.name for thing in files if thing.kind in ("user", "role")]
    routes = [thing.name for thing in files if thing.kind == "route"]
    spelled = files if insensitive else {}
    if insensitive:
        respell(answers, files)
    reader = _Reader(schema, answers, spelled, signer, principals, routes)
    columns = [(thing.of, thing.name) for thing in reader.catalog if thing.kind == "column"]
    tasks = [thing.name for thing in files if thing.kind == "agent job"]
    ask_jobs = [jobs(schema)] if tasks and Thing("table", OWNED) in reader.catalog else []
    try:
        sets = sets_of(connection, " ".join([contents(schema, columns), *further, *ask_jobs]))
    except Exception as error:
        if server_message(error)[0] != NOT_ALLOWED:
            raise
        tables = [table for table in CONTENTS if Thing("table", table) in reader.catalog]
        grants = rights_to_look(schema, database["who"], tables)
        raise CannotSee(*who, f"the tables of {quote_name(schema)}", grants) from error
    rows = dict(zip(CONTENTS, sets, strict=False))
    reader.contents(rows)
    if ask_jobs:
        reader.jobs(tasks, sets[-1])
    _same_collation(reader.catalog, files, database["collation"])
    _entering(reader.catalog, files)
    return Found(
        reader.catalog,
        database["name"],
        database["version"],
        database["server"] or "",
        next((row["Known"] or "" for row in rows["DeploymentText"]), ""),
        next((row["seconds"] for row in rows["DeploymentAttempt"]), None),
        any(row["unfinished"] for row in rows["DeploymentAttempt"]),
        sets[len(CONTENTS) : len(CONTENTS) + len(further)],
    )


def _same_collation(catalog: Catalog, files: Catalog, usual: str) -> None:
    """A column for which the files name no collation has the database's."""
    for thing, own in catalog.items():
        if own.get("collation") == usual and not files.get(thing, {}).get("collation"):
            own["collation"] = ""


def _entering(catalog: Catalog, files: Catalog) -> None:
    """Of users that no file makes it is not asked whether they may enter."""
    for thing, own in list(catalog.items()):
        plain = own.get(PERMISSION) == CONNECT and own["state"] == GRANTED
        if plain and thing not in files and own[GRANTEE] != GUEST:
            del catalog[thing]


class _Reader:
    """Makes things of rows."""

    def __init__(
        self,
        schema: str,
        answers: Answers,
        files: Catalog,
        signer: str,
        principals: list[str],
        routes: list[str],
    ) -> None:
        """files: whose spelling of users and roles counts; empty where case matters.

        principals: our users and roles. routes: our routes.
        """
        self.schema = schema
        self.signers = _signers(answers, signer)
        self.spelled = {t.name.lower(): t.name for t in files if t.kind in ("user", "role")}
        self.any_case = bool(files)
        self.ours = {self.who(name) for name in principals}
        self.routes = routes
        self.answers = answers
        self.catalog: Catalog = {}
        self.owners: dict[str, str] = {}
        self._principals()
        self._objects()
        self.catalog |= columns(answers["columns"])
        self._indexes()
        self._modules()
        self._queues()
        self._services()
        self._ways()
        self._keys()
        self._database()
        self.catalog |= rights(
            self.answers["permissions"], self.catalog, self.ours, self.who, self._named
        )
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
        if name in self.signers:
            return self.signers[name]
        return self.spelled.get((name or "").lower(), name or "")

    def contents(self, rows: Answers) -> None:
        """Rows that are part of an installation, by table."""
        removed = any(row["Version"] == REMOVED for row in rows[HISTORY])
        half_way = {row["Value"] for row in rows["Setting"] if row["Name"] == INTERRUPTED}
        for value in half_way - ({"uninstall"} if removed else set()):
            self.put("deployment", f"has stopped half way ({value})")
        for row in rows["Setting"]:
            if row["Name"] != INTERRUPTED:
                self.put("setting", row["Name"], value=row["Value"] or "")
        for row in rows["Gate"]:
            why = f"({row['Reason'] or 'no reason was given'})"
            state = "open" if row["IsOpen"] else f"closed by {row['ChangedBy']} {why}"
            own = {OWN_GATE: ON} if half_way else {}
            self.put("gate", str(row["ConfigId"]), state=state, **own)
        for row in rows[HISTORY]:
            own = {"configuration": row["ConfigName"], "version": row["Version"]}
            self.put("deployment", "last", content=row["ContentHash"].strip(), **own)
        for row in rows["Migration"]:
            self.put("migration", str(row["Number"]))
        for row in rows[OWNED]:
            self.put("owned object", row["Name"], row["Kind"])

    def jobs(self, tasks: list[str], rows: list[Row]) -> None:
        """Agent jobs by their tasks; where there is no Agent to ask, they are left to whoever runs them."""
        for task in tasks:
            made = [row for row in rows if not row["can"] or f": {task}, " in row["Name"]]
            if any(not row["can"] or row["there"] for row in made):
                off = [row["Name"] for row in made if row["there"] and not row["runs"]]
                self.put("agent job", task, off=off[0] if off else "")

    def _principals(self) -> None:
        for row in self.answers["schema"]:
            self.put("schema", self.schema, owner=self.who(row["owner"]))
        for row in self.answers["principals"]:
            name, owner = self.who(row["name"]), self.who(row["owner"])
            if row["type"].strip() == "R":
                self.put("role", name, owner=owner)
            else:
                logs_in_by = (row["authentication"] or "").lower()
                own = {"logs_in_by": logs_in_by, "of_type": row["type"].strip()}
                self.put("user", name, **own, default_schema=row["default_schema_name"] or "")
        for row in self.answers["members"]:
            self.put("role membership", row["role"], self.who(row["member"]))
        for row in self.answers["members of roles"]:
            if row["member"] == GUEST:
                self.put("role membership", self.who(row["role"]), GUEST)
            else:
                self.put(MEMBER, row["member"], self.who(row["role"]))
        for role, member in powerful(self.answers["memberships"]):
            if self.who(member) not in self.ours:
                self.put(POWER, role, member)
        for row in self.answers["other schemas"]:
            self.put("schema", row["name"], self.who(row["owner"]))

    def _objects(self) -> None:
        for row in self.answers["tables"]:
            self.catalog[Thing("table", row["name"])] = table(row)
        for row in self.answers["types"]:
            kind = "type" if row["is_table_type"] else "alias type"
            place = "memory" if row["is_memory_optimized"] else "tempdb"
            self.put(kind, row["name"], owner=self.who(row["owner"]), kept_in=place)
        modules = {row["name"] for row in self.answers["modules"]}
        for row in self.answers["objects"]:
            kind = row["type"].strip()
            self.owners[row["name"]] = self.who(row["owner"])
            if kind not in ("U", "SQ") and row["name"] not in modules:
                self.put("object", f"{row['name']} ({kind})")
        for row in self.answers["security policies"]:
            self.put("security policy", self._named(row["schema_name"], row["name"]), row["owner"])
        for row in self.answers["foreign keys"]:
            owner = self._named(row["schema_name"], row["owner"])
            self.put("foreign key", row["name"], owner, to=row["to_table"])
        for row in self.answers["checks"]:
            self.catalog[Thing("check", row["name"], row["owner"])] = check(row)

    def _indexes(self) -> None:
        types = {row["name"] for row in self.answers["types"]}
        self.catalog |= indexes(
            self.answers["indexes"],
            self.answers["index columns"],
            self.answers["sequential"],
            types,
        )
        for row in self.answers["statistics"]:
            self.put("statistics", row["name"], row["owner"])

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
        for row in self.answers["run as ours"]:
            name = f"{row['schema_name']}.{row['name']}"
            self.put("module or queue of others", f"{name} that runs as {self.who(row['who'])}")
        for row in self.answers["xml schemas"]:
            self.put("XML schema collection", row["name"])
        for row in self.answers["database triggers"]:
            self.put(
                DATABASE_TRIGGER,
                row["name"],
                fires=switch(not row["is_disabled"]),
                text=row["digest"] or HIDDEN,
            )

    def _queues(self) -> None:
        for row in self.answers["queues"]:
            self.put(
                "queue",
                row["name"],
                receive=switch(row["is_receive_enabled"]),
                enqueue=switch(row["is_enqueue_enabled"]),
                retention=switch(row["is_retention_enabled"]),
                poison_handling=switch(row["is_poison_message_handling_enabled"]),
                activation=switch(row["is_activation_enabled"])
                if row["procedure_name"]
                else UNREAD,
                procedure=self._named(row["procedure_schema"], row["procedure_name"] or ""),
                readers=str(row["max_readers"] or 0),
                execute_as=self.who(row["execute_as"]),
            )
        for row in self.answers["event notifications"]:
            thing = Thing("event notification", row["name"], row["queue"] or "")
            if not row["parent_class"]:
                thing = Thing(DATABASE_NOTIFICATION, row["name"])
            told = {"events": "", "service": row["service_name"], "other broker": row["broker"]}
            if row["parent_class"]:
                told["conversation"] = switch(row["lives"])
            own = self.catalog.setdefault(thing, told)
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

    def _ways(self) -> None:
        """What leads to another database, or leads our messages astray."""
        for row in self.answers["routes"]:
            every = not row["remote_service_name"] and row["name"] != LOCAL_ROUTE.name
            unknown = "a broker that is no database here" if row["broker_instance"] else ""
            self.put(
                ROUTE_OF_ALL if every and row["name"] not in self.routes else "route",
                row["name"],
                service=row["remote_service_name"] or "",
                leads_to=row["leads_to"] or unknown,
                address=row["address"] or "",
                mirror=row["mirror_address"] or "",
                expires=str(row["lifetime"] or ""),
            )
        for row in self.answers["remote service bindings"]:
            self.put(
                "remote service binding",
                row["name"],
                owner=self.who(row["owner"]),
                service=row["remote_service_name"] or "",
                user=self.who(row["remote_user"]),
                anonymous=switch(row["is_anonymous_on"]),
            )

    def _keys(self) -> None:
        """Certificates, and what is signed."""
        for row in self.answers["certificates"]:
            own = {
                "owner": self.who(row["owner"]),
                "private key": _PRIVATE_KEYS[row["pvt_key_encryption_type"].strip()],
                "for dialogs": switch(row["is_active_for_begin_dialog"]),
                "last day": f"{row['expiry_date']:%Y-%m-%d}",
            }
            if row["public_key"]:
                own["public key"] = row["public_key"].lower()
            self.catalog[Thing("certificate", self.who(row["name"]))] = own
        for row in self.answers["signatures"]:
            by = row["signed_by"] or NO_KEY
            name = f"by the {self.signers[by]}" if by in self.signers else f"by {by}"
            counter = row["crypt_type_desc"].startswith("COUNTER")
            self.put(
                "signature",
                name,
                row["module"],
                form="counter signature" if counter else "signature",
            )

    def _database(self) -> None:
        [options] = self.answers[OPTIONS_QUESTION]
        for column, value in options.items():
            shown = switch(value) if column.startswith("is_") else str(value)
            self.put(OPTION, option_name(column), value=shown)
        [row] = self.answers["database"]
        forced = row["delayed_durability_desc"] == "FORCED"
        level = row["compatibility_level"]
        self.catalog[DATABASE] = {
            "Service Broker": switch(row["is_broker_enabled"]),
            "delayed durability": "forced" if forced else "as each COMMIT says",
            "auto close": switch(row["is_auto_close_on"]),
            "read only": switch(row["is_read_only"]),
            "compatibility level": LEVEL_IS_ENOUGH if level >= LOWEST_LEVEL else str(level),
            "open to": row["user_access_desc"].replace("_", " ").lower(),
            MASTER_KEY: switch(options["is_master_key_encrypted_by_server"]),
        }

    def _marks(self) -> None:
        for row in self.answers["marks"]:
            kind = _MARKED.get(row["class"])
            if row["class"] == 1:
                kind = "QUEUE" if (row["type"] or "").strip() == "SQ" else "TABLE"
            name = self.who(row["name"]) if kind == "USER" else row["name"]
            if row["elsewhere"]:
                self.put(ELSEWHERE, name, row["elsewhere"], configuration=row["value"] or "")
            elif row["others"]:
                self.put("mark of another configuration", row["others"], f"{kind} {name}")
            elif row["made"]:
                self.put(MADE, kind or "?", name, value=row["value"] or "")
            else:
                value = row["value"] or ""
                if kind not in MARKED_INSIDE and not self._named(value, ""):  # however spelled
                    value = self.schema
                self.put("mark", kind or "?", name, configuration=value)

    def _named(self, schema: str | None, name: str | None) -> str:
        ours = self.schema.lower() if self.any_case else self.schema
        own = schema is None or (schema.lower() if self.any_case else schema) == ours
        return "?" if name is None else name if own else f"{schema}.{name}"


def _signers(answers: Answers, prefix: str) -> dict[str | None, str]:
    """What the certificates are called here that sign procedures: the one that signs most is in use."""
    signed = [row["signed_by"] for row in answers["signatures"]]
    ours = [
        row["name"]
        for row in answers["certificates"]
        if row["name"].startswith(prefix) and len(row["name"]) == len(prefix) + GUID
    ]
    used = max(ours, key=lambda name: (signed.count(name), name), default=None)
    return {name: SIGNER if name == used else f"older {SIGNER} {name}" for name in ours}
