"""DacFx: all files in one schema model, and what it finds wrong with the whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from oracle.dom import Dom

CREATED = """
Table View Procedure Function Trigger Index TypeTable TypeUddt Schema Sequence Synonym MessageType
Contract Queue Service Route RemoteServiceBinding BrokerPriority EventNotification
XmlSchemaCollection User Role Login Certificate MasterKey Statistics ColumnStoreIndex XmlIndex
SelectiveXmlIndex Endpoint
"""
ADD = {
    *(f"Create{kind}Statement" for kind in CREATED.split()),
    "GrantStatement",
    "AlterTableAddTableElementStatement",
}
"""What the model takes as it is, once IF guards and OR ALTER are peeled off."""
OR_ALTER = {
    f"CreateOrAlter{kind}Statement" for kind in ("View", "Procedure", "Function", "Trigger")
}
SILENT = "If BeginEndBlock Use PredicateSet Print SetTransactionIsolationLevel SetCommand TryCatch"
QUIET = {f"{kind}Statement" for kind in SILENT.split()}
NOISE = re.compile(
    r"unresolved reference to (?:object )?(?:\[@|\[sys\]\.\[sp_(?:executesql|(?:get|release)applock)\])"
)
"""DacFx takes the variables of BEGIN DIALOG for objects, and knows the application locks from a
reference to master only."""
SYS_REFERENCE = re.compile(
    r"(unresolved reference to (?:object )?|any of the following objects: )\[sys\]\."
)


class Finding(NamedTuple):
    """One line of output."""

    path: str
    line: int
    column: int
    severity: str
    code: str
    text: str


class Model:
    """A schema model of one server version; ``stub`` is DDL of stand-ins for sys views."""

    def __init__(self, dom: Dom, version: int, stub: str | None) -> None:
        import System
        from Microsoft.SqlServer.Dac import Model as dac

        self.dom, self._system, self._dac = dom, System, dac
        self._version = getattr(dac.SqlServerVersion, f"Sql{version}")
        self._model = self._fresh()
        self._good: list[tuple[str, str]] = []
        self._where: dict[str, tuple[str, int]] = {}
        self._modules: list[tuple[int, int]] = []
        self.findings: list[Finding] = []
        self.skipped: list[tuple[str, int, str]] = []
        if stub:
            self._add(stub, "<sys-stub>", 1, report="<sys-stub>")

    def _fresh(self) -> Any:
        return self._dac.TSqlModel(self._version, self._dac.TSqlModelOptions())

    def _add(self, sql: str, name: str, line: int, report: str) -> None:
        """Put one statement into the model, or note why it does not go in."""
        self._where[name] = (report, line)
        try:
            self._model.AddOrUpdateObjects(sql, name, self._dac.TSqlObjectOptions())
        except self._system.Exception as error:
            text = " ".join(error.Message.split())
            found = re.search(r"Error (SQL\d+): (.*)", text)
            code, text = found.groups() if found else ("load", text)
            self.findings.append(Finding(report, line, 1, "Error", code, text))
            # an object that blocks the build cannot be deleted and refuses all after it: start over
            self._model = self._fresh()
            for old_sql, old_name in self._good:
                self._model.AddOrUpdateObjects(old_sql, old_name, self._dac.TSqlObjectOptions())
        else:
            self._good.append((sql, name))

    def begin_file(self) -> None:
        """Forget the module spans of the file before."""
        self._modules = []

    def add_batch(self, path: str, text: str, tree: Any) -> None:
        """Add what the batch creates; positions in ``tree`` are absolute in ``text``, the file."""
        for _, statement in self.dom.statements(tree):
            kind = self.dom.kind(statement)
            start, length = statement.StartOffset, statement.FragmentLength
            if kind in QUIET or any(a < start < b for a, b in self._modules):
                continue
            sql = text[start : start + length]
            if kind in OR_ALTER:
                sql = self._without_or_alter(sql, statement)
            elif kind == "ExecuteStatement":
                sql = self._executed_literal(statement)
            elif kind not in ADD:
                sql = None
            if sql is None:
                self.skipped.append((path, statement.StartLine, kind))
                continue
            self._add(sql, f"{path}#{len(self._where)}", statement.StartLine, report=path)
            self._modules.append((start, start + length))

    @staticmethod
    def _without_or_alter(sql: str, statement: Any) -> str:
        """The model refuses OR ALTER: blank the two words, keep every position."""
        tokens, left = statement.ScriptTokenStream, ["OR", "ALTER"]
        for index in range(statement.FirstTokenIndex, statement.LastTokenIndex):
            word = tokens[index].Text or ""
            if left and word.upper() == left[0]:
                left.pop(0)
                at = tokens[index].Offset - statement.StartOffset
                sql = sql[:at] + " " * len(word) + sql[at + len(word) :]
        return sql

    def _executed_literal(self, statement: Any) -> str | None:
        """Text of EXECUTE sp_executesql N'CREATE SCHEMA ...', the one DDL a guard cannot hold."""
        literals = [
            node["Value"]
            for node in _walk(self.dom.as_json(statement))
            if node["kind"] == "StringLiteral"
        ]
        if len(literals) == 1 and literals[0].startswith("CREATE SCHEMA "):
            return literals[0]
        return None

    def validate(self) -> Iterator[Finding]:
        """What the model as a whole finds, at the place the object was created."""
        spots: dict[str, tuple[str, int]] = {}
        for item in self._model.GetObjects(self._dac.DacQueryScopes.UserDefined):
            source = item.GetSourceInformation()
            if source is not None and source.SourceName in self._where:
                path, line = self._where[source.SourceName]
                spots[str(item.Name).lower()] = (path, line + source.StartLine - 1)
        seen = set()
        for message in self._model.Validate():
            text = " ".join(message.Message.split())
            found = re.match(r"Error validating element (.*?): ", text)
            path, line = _place(spots, found.group(1) if found else "")
            text = re.sub(r"^Error validating element ", "", text)
            code = f"{message.Prefix}{message.Number}"
            row = Finding(path, line, 1, str(message.MessageType), code, text)
            if row not in seen:
                seen.add(row)
                yield row


def _walk(node: Any) -> Iterator[dict[str, Any]]:
    """Every dictionary of a JSON tree."""
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from _walk(child)


def _place(spots: dict[str, tuple[str, int]], name: str) -> tuple[str, int]:
    """Where the element ``name``, or the object it is part of, was created."""
    name = re.sub(r"^unnamed constraint on ", "", name).lower()
    while name:
        if name in spots:
            return spots[name]
        name = name.rpartition(".")[0]
    return "<model>", 0
