"""What the rendered files of one database make, read from their statements.

The files are what a reviewer saw, so they decide; no second list of objects is kept anywhere. A
statement counts wherever it stands, whatever IF is around it: the files are written so that every
branch leads to the same end. Constant texts given to sp_executesql are read too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache, singledispatchmethod

from redial.deploy.fingerprint.expressions import module_text
from redial.deploy.fingerprint.model import (
    CONNECT,
    GRANTED,
    GRANTEE,
    MARKED_INSIDE,
    NO_LOGIN,
    OFF,
    ON,
    UNREAD,
    Catalog,
    Properties,
    Thing,
    right,
    securable,
    switch,
    written,
)
from redial.deploy.fingerprint.tables import Tables
from redial.tsql import parse_batch, split_batches
from redial.tsql.ast import (
    AlterIndex,
    AlterQueue,
    AlterRole,
    AlterService,
    AlterTableSet,
    Batch,
    CreateBrokerPriority,
    CreateContract,
    CreateEventNotification,
    CreateIndex,
    CreateMessageType,
    CreateQueue,
    CreateRemoteServiceBinding,
    CreateRole,
    CreateSchema,
    CreateService,
    CreateTable,
    CreateTableType,
    CreateTrigger,
    CreateUser,
    DataType,
    ExecuteProcedure,
    ExecuteString,
    Identifier,
    Insert,
    Literal,
    ModuleDefinition,
    Node,
    ObjectName,
    Permission,
    Values,
    Variable,
)
from redial.tsql.ast.broker import QueueDefinition

ANY_TEXT = ""
"""Text of a module that is the user's own: the hook, made once and never replaced."""
SETTINGS = "@wanted"
"""The table variable of 93_settings that lists the choices."""
ADDED_LATER = {"added": "later"}
"""Marks a contract that ALTER SERVICE adds."""
GATE_OPEN = "open"
OWNED = "OwnedObject"
"""The table of what a configuration made that cannot carry a mark."""
JOBS = "@jobs"
"""The table variable of 92_jobs that lists tasks, commands and how often."""
MIGRATION = re.compile(r"35_(\d\d)_.*\.migration\.sql$")
"""A file that changes a table of an earlier version, and its number."""
HISTORY = "DeploymentHistory"
"""Its last row says which files were deployed."""
_NO_VALIDATION = "NONE"


def wanted(files: Mapping[str, str], schema: str, *, elsewhere: bool = False) -> Catalog:
    """Everything the files of one database make. files: texts by name, in order of installation.

    elsewhere: instead, what they make in the other database, by its sp_executesql.
    """
    made = _wanted(tuple(files.items()), schema, elsewhere)
    return {thing: dict(properties) for thing, properties in made.items()}


@lru_cache(maxsize=8)
def _wanted(files: tuple[tuple[str, str], ...], schema: str, elsewhere: bool) -> Catalog:
    """The same, read once: a deployment looks before it works and afterwards."""
    reader = _Reader(schema, elsewhere)
    for name, text in files:
        reader.file = name
        if migration := MIGRATION.match(name):
            reader.put("migration", str(int(migration[1])))
        for batch in split_batches(text):
            reader.batch(_parsed(batch.sql), batch.sql)
    for thing in reader.catalog:
        if thing.kind == "mark" and reader.configuration:
            inside = thing.name in MARKED_INSIDE
            reader.catalog[thing]["configuration"] = reader.configuration if inside else schema
    return _as_it_ends(reader.catalog)


def _as_it_ends(catalog: Catalog) -> Catalog:
    """An earlier version's contract is added only where it still is; the gate is open at the end."""
    contracts = {thing.name for thing in catalog if thing.kind == "contract" and not thing.of}
    ended = {
        thing: own
        for thing, own in catalog.items()
        if own != ADDED_LATER or thing.name in contracts
    }
    choice = ended.get(Thing("setting", "config_id"))
    if choice is not None:
        ended[Thing("gate", choice["value"])] = {"state": GATE_OPEN}
    return {thing: ({} if own == ADDED_LATER else own) for thing, own in ended.items()}


@lru_cache(maxsize=500)
def _parsed(text: str) -> Batch:
    return parse_batch(text)


class _Reader:
    """Walks statements and notes what they make."""

    def __init__(self, schema: str, elsewhere: bool) -> None:
        self.schema = schema
        self.elsewhere = elsewhere
        self.catalog: Catalog = {}
        self.tables = Tables(self.catalog, self.local)
        self.file = ""
        self.dynamic = False
        self.configuration = ""
        """Its name, which marks carry."""

    def batch(self, batch: Batch, text: str) -> None:
        """One batch; a module is the whole of it, and what it does when it runs is not looked at."""
        self.tables.text = text
        for statement in batch.statements:
            if isinstance(statement, ModuleDefinition):
                self._module(statement, text)
                continue
            for node in statement.walk():
                if isinstance(node, ExecuteProcedure) or self.dynamic or not self.elsewhere:
                    self.note(node)

    def local(self, name: ObjectName) -> str:
        """A name as things of this model are called."""
        if name.schema is None or name.schema == self.schema:
            return name.name
        return f"{name.schema}.{name.name}"

    def put(self, kind: str, name: str, of: str = "", **properties: str) -> Properties:
        """Add properties to a thing."""
        own = self.catalog.setdefault(Thing(kind, name, of), {})
        own.update({key.replace("_", " "): value for key, value in properties.items()})
        return own

    def _module(self, statement: ModuleDefinition, text: str) -> None:
        if self.elsewhere:
            return
        mine = ANY_TEXT if self.dynamic else module_text(text)
        on = self.local(statement.table) if isinstance(statement, CreateTrigger) else ""
        own = self.put("module", self.local(statement.name), on, text=mine, owner="")
        if not self.dynamic:
            own |= {"ANSI_NULLS": ON, "QUOTED_IDENTIFIER": ON}
        if isinstance(statement, CreateTrigger):
            own["fires"] = ON

    @singledispatchmethod
    def note(self, node: Node) -> None:
        """A node that makes nothing."""

    @note.register
    def _(self, node: CreateTable) -> None:
        if node.name.schema is not None:
            self.tables.table(node)

    @note.register
    def _(self, node: CreateTableType) -> None:
        self.tables.table_type(node)

    @note.register
    def _(self, node: CreateIndex) -> None:
        self.tables.index(node)

    @note.register
    def _(self, node: AlterIndex) -> None:
        self.tables.change_index(node)

    @note.register
    def _(self, node: AlterTableSet) -> None:
        for option in node.options:
            if option.name == "LOCK_ESCALATION" and isinstance(option.value, Identifier):
                self.put("table", self.local(node.name), lock_escalation=option.value.text.lower())

    @note.register
    def _(self, node: QueueDefinition) -> None:
        name = self.local(node.name)
        if isinstance(node, CreateQueue):
            self.put("queue", name, receive=switch(node.status is not False), enqueue=ON)
            self.put("queue", name, retention=OFF, poison_handling=ON)  # CREATE QUEUE page
            self.put(
                "queue", name, activation=UNREAD, procedure="", readers="0", execute_as="", owner=""
            )
        if node.retention is not None:
            self.put("queue", name, retention=switch(node.retention))
        if node.poison_handling is not None:
            self.put("queue", name, poison_handling=switch(node.poison_handling))
        active = node.activation
        if isinstance(node, (CreateQueue, AlterQueue)) and active and active.procedure:
            self.put(
                "queue",
                name,
                activation=switch(active.status),
                procedure=self.local(active.procedure),
                readers=str(active.max_readers),
                execute_as=_word(active.execute_as),
            )

    @note.register
    def _(self, node: CreateService) -> None:
        self.put("service", node.name.text, owner=_word(node.owner), queue=self.local(node.queue))
        for contract in node.contracts:
            self.put("contract", contract.text, node.name.text)

    @note.register
    def _(self, node: AlterService) -> None:
        for change in node.changes:
            if change.verb == "ADD":
                thing = Thing("contract", change.contract.text, node.name.text)
                self.catalog.setdefault(thing, dict(ADDED_LATER))

    @note.register
    def _(self, node: CreateContract) -> None:
        self.put("contract", node.name.text, owner=_word(node.owner))
        for message in node.messages:
            own = message.message_type.text, node.name.text
            self.put("message type", *own, sent_by=message.sent_by.lower())

    @note.register
    def _(self, node: CreateMessageType) -> None:
        self.put(
            "message type",
            node.name.text,
            owner=_word(node.owner),
            validation=(node.validation or _NO_VALIDATION).lower(),
            schema=self.local(node.schema_collection) if node.schema_collection else "",
        )

    @note.register
    def _(self, node: CreateBrokerPriority) -> None:
        self.put(
            "broker priority",
            node.name.text,
            contract=_word(node.contract),
            local_service=_word(node.local_service),
            remote_service=_word(node.remote_service),
            level=str(node.level),
        )

    @note.register
    def _(self, node: CreateRemoteServiceBinding) -> None:
        self.put(
            "remote service binding",
            node.name.text,
            owner=_word(node.owner),
            service=_word(node.service),
            user=_word(node.user),
            anonymous=switch(bool(node.anonymous)),
        )

    @note.register
    def _(self, node: CreateEventNotification) -> None:
        if node.queue is not None:
            own = node.name.text, self.local(node.queue)
            events = ", ".join(sorted(node.events))
            self.put(
                "event notification",
                *own,
                events=events,
                service=_word(node.service),
                other_broker="",
                conversation=ON,
            )

    @note.register
    def _(self, node: CreateSchema) -> None:
        self.put("schema", node.name.text, owner=_word(node.owner))

    @note.register
    def _(self, node: CreateUser) -> None:
        self.put("user", node.name.text)
        if node.source == "WITHOUT LOGIN":
            self.put("user", node.name.text, logs_in_by="none", of_type=NO_LOGIN)
        enters = right(CONNECT, node.name.text), securable("DATABASE", "")
        self.put("permission", *enters, state=GRANTED)[written(GRANTEE)] = node.name.text

    @note.register
    def _(self, node: CreateRole) -> None:
        self.put("role", node.name.text)  # its owner is whoever deployed it first

    @note.register
    def _(self, node: AlterRole) -> None:
        if node.action == "ADD MEMBER":
            self.put("role membership", node.name.text, node.argument.text)

    @note.register
    def _(self, node: Permission) -> None:
        where = node.securable
        kind, name = "DATABASE", ""
        if where is not None:
            kind, name = where.kind or "OBJECT", self.local(where.name)
        for permission in node.permissions:
            for column in permission.columns or [""]:
                for principal in node.principals:
                    own = right(permission.name, principal.text), securable(kind, name, column)
                    state = node.verb.lower() + (" with option" if node.grant_option else "")
                    self.put("permission", *own, state=state)

    @note.register
    def _(self, node: ExecuteProcedure) -> None:
        if not isinstance(node.procedure, ObjectName):
            return
        given = [a.value.value for a in node.arguments[:2] if isinstance(a.value, Literal)]
        if node.procedure.name == "usp_Mark" and len(given) >= 2 and not self.elsewhere:
            self.put("mark", str(given[0]), str(given[1]))
        if (node.procedure.database is not None) is not self.elsewhere:
            return
        if node.procedure.name == "sp_executesql" and isinstance(node.arguments[0].value, Literal):
            self._text(str(given[0]))

    @note.register
    def _(self, node: ExecuteString) -> None:
        if isinstance(node.command, Literal):
            self._text(str(node.command.value))

    @note.register
    def _(self, node: Insert) -> None:
        """The choices of 93_settings, what 90_deployment writes into DeploymentHistory, and OwnedObject."""
        if isinstance(node.target, ObjectName) and node.target.name == HISTORY:
            self._deployment(node)
        if isinstance(node.target, ObjectName) and node.target.name == OWNED:
            self._owned(node)
        if isinstance(node.target, Variable) and node.target.name == JOBS:
            self._jobs(node)
        if not isinstance(node.target, Variable) or node.target.name != SETTINGS:
            return
        if "_settings." in self.file and isinstance(node.source, Values):
            for name, value, drains in node.source.rows:
                if isinstance(name, Literal) and isinstance(value, Literal):
                    ends = isinstance(drains, Literal) and drains.value == 1
                    self.put(
                        "setting", str(name.value), value=str(value.value), drains=switch(ends)
                    )

    def _jobs(self, node: Insert) -> None:
        if "_jobs." in self.file and isinstance(node.source, Values):
            for task, *_rest in node.source.rows:
                if isinstance(task, Literal):
                    self.put("agent job", str(task.value))

    def _owned(self, node: Insert) -> None:
        if isinstance(node.source, Values):
            given = [one.value for one in node.source.rows[0] if isinstance(one, Literal)]
            if len(given) == 2:  # kind and name, where both are constants
                self.put("owned object", str(given[1]), str(given[0]))

    def _deployment(self, node: Insert) -> None:
        if isinstance(node.source, Values):
            given = [one.value for one in node.source.rows[0] if isinstance(one, Literal)]
            if len(given) == 3:  # configuration, version, content
                named = {"configuration": str(given[0]), "version": str(given[1])}
                self.put("deployment", "last", content=str(given[2]), **named)
                self.configuration = str(given[0])

    def _text(self, text: str) -> None:
        """A constant text that is run."""
        before, self.dynamic = self.dynamic, True
        around = self.tables.text
        self.batch(_parsed(text), text)
        self.dynamic, self.tables.text = before, around


def _word(value: object) -> str:
    """A name however it is written."""
    if isinstance(value, Identifier):
        return value.text
    if isinstance(value, Literal):
        return str(value.value)
    return "" if value is None or isinstance(value, DataType) else str(value)
