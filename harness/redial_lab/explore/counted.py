"""What counts for a state only because T-SQL of the scenario can read it.

When something happened, in which order messages came to a queue, which rowversions were given out:
two orders of independent steps differ in such things, and nobody goes on differently for it unless
his T-SQL reads them (``engine.state.COUNTED`` has the list, with the words by which a text is known
to do so). Looked at before the search are the batches, and the text of every object that is named
in a text that is looked at; comments and literals aside. Dynamic texts, questions of checks and
procedures that are called by a variable show only when they are run: one that reads what was not
counted so far ends the search, which then begins again and counts it (``counting``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from redial.tsql import TsqlSyntaxError, ast, parse_batch
from redial_broker.engine.state import COUNTED
from redial_broker.engine.storage import Table
from redial_lab.explore.scenario import Scenario

if TYPE_CHECKING:
    from typing import TypeVar

    from redial_broker.exec.database import Database
    from redial_lab.explore.world import Searchable

    _R = TypeVar("_R")

    Texted = tuple[str, ast.Node | None]
    """A text, with its tree where that is known."""

SYSTEM = frozenset({"master", "model", "msdb", "tempdb"})

SHOW_THE_TIME = frozenset({"times", "lifetime", "logs"})
"""Who reads when something happened reads what time it was."""

_WORDS = {
    name: re.compile(rf"(?<![\w@#$])(?:{aspect.words})(?![\w@#$])", re.I)
    for name, aspect in COUNTED.items()
}
_MOVES = re.compile(r"related_conversation|move\s+conversation", re.I)
_NO_CODE = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.S)
_WORD = re.compile(r"[\w@#$]+")
_DEFINING = frozenset({"create", "alter", "drop", "grant", "revoke", "deny", "add"})
_USED_BY_STEPS = (
    ast.CreateTable,
    ast.AlterTableAdd,
    ast.AlterTableDrop,
    ast.AlterTableAlterColumn,
    ast.AlterTableConstraints,
    ast.AlterTableTriggers,
    ast.AlterTableSet,
    ast.CreateIndex,
    ast.AlterIndex,
    ast.DropIndex,
    ast.CreateStatistics,
    ast.CreateSequence,
    ast.AlterSequence,
    ast.CreateQueue,
    ast.AlterQueue,
)
_KINDS_USED_BY_STEPS = frozenset({"TABLE", "INDEX", "STATISTICS", "SEQUENCE", "QUEUE"})
"""_USED_BY_STEPS, _KINDS_USED_BY_STEPS: no statement uses these that is not a step anyway."""
_IN_A_LITERAL = re.compile(
    r"'\s*(?:create|alter|drop|grant|revoke|deny)\s+(?!table|index|statistics|sequence|queue)\w",
    re.I,
)
"""The beginning of a dynamic text that is likely to."""
ORDER = "queuing_order"
STEPS = "steps"


class MoreCountsError(Exception):
    """A text that was run reads what did not count so far."""

    def __init__(self, aspects: frozenset[str]) -> None:
        self.aspects = aspects
        super().__init__(f"counts too: {', '.join(sorted(aspects))}")


class Texts:
    """The T-SQL of a scenario that can run, and what it reads."""

    def __init__(self, instance: Searchable, scenario: Scenario) -> None:
        self.known: set[str] = set()
        self.rowversions: dict[str, str] = {}
        """Tables that have one, and its name, in lower case."""
        self.queues: set[str] = set()
        self.moves = False
        """Several conversations of one group are possible, and RECEIVE gives them together."""
        self.receives_order = False
        self.counted: frozenset[str] = frozenset()
        self.named: dict[str, list[Texted]] = {}
        """Texts of objects that nobody has named so far, by the object's name."""
        roots: list[Texted] = [(text, None) for text in _batches(scenario)]
        for name, database in instance.server.databases.items():
            if name.lower() not in SYSTEM:
                roots += self._look(database)
        for text, node in roots:
            self.hear(text, node)

    def _look(self, database: Database) -> list[Texted]:
        """Note the objects of a database; returns texts that run without being named."""
        roots: list[Texted] = [(t.text, t.node) for t in database.ddl_triggers.values()]
        by_id = {item.object_id: item for item in database.objects.values()}
        for item in database.objects.values():
            names = [item.name.lower()]
            # Whatever belongs to a table runs with it, and what refers to it by a foreign key.
            for other in (by_id.get(item.parent_id) if getattr(item, "parent_id", 0) else None,):
                names += [other.name.lower()] if other is not None else []
            foreign = getattr(item, "foreign", None)
            if foreign is not None:
                names += [by_id[foreign.referenced_id].name.lower()]
            activation = getattr(item, "activation", None)
            if activation is not None:
                roots.append((activation.procedure, None))
            if getattr(item, "kind", "") == "QUEUE":
                self.queues.add(item.name.lower())
            for text, node in _texts_of(item):
                for name in names:
                    if _WORD.fullmatch(name):
                        self.named.setdefault(name, []).append((text, node))
                    else:  # no word by which it could be found
                        roots.append((text, node))
            if isinstance(item, Table) and item.rowversion_column is not None:
                column = item.columns[item.rowversion_column]
                self.rowversions[item.name.lower()] = column.name.lower()
        return roots

    def hear(self, text: str, node: ast.Node | None = None) -> frozenset[str]:
        """What a text, and all it names, reads that did not count before; it counts from now on."""
        waiting: list[Texted] = [(text, node)]
        found: set[str] = set()
        while waiting:
            text, node = waiting.pop()
            if text in self.known:
                continue
            self.known.add(text)
            code = _code(text)
            words = _words(code)
            self.moves = self.moves or bool(_MOVES.search(code))
            found |= _worded(code) | self._selected(text, node, words)
            if _IN_A_LITERAL.search(text) or (words & _DEFINING and _defines(text, node)):
                found.add(STEPS)
            for word in words & self.named.keys():
                waiting += self.named.pop(word)
        if self.receives_order and self.moves:
            found.add("order")
        if found & SHOW_THE_TIME:
            found.add("clock")
        more = frozenset(found - self.counted)
        self.counted |= more
        return more

    def _selected(self, text: str, node: ast.Node | None, words: frozenset[str]) -> set[str]:
        """By what its queries select from what."""
        found: set[str] = set()
        if words & self.rowversions.keys() and words & set(self.rowversions.values()):
            found.add("rowversions")
        if "*" not in text and ORDER not in words:
            return found
        node = _parsed(text) if node is None else node
        for kind, columns, sources in ast.noted(node, _queries) if node is not None else ():
            everything = "*" in columns
            if everything and any(name.startswith("sys.") for name in sources):
                found.add("times")
            if everything and sources & self.rowversions.keys():
                found.add("rowversions")
            if not (everything or ORDER in columns):
                continue
            if kind == "receive":
                self.receives_order = True
                found |= {"times"} if everything else set()
            elif sources & self.queues:
                found |= {"order", "times"}
        return found


def _defines(text: str, node: ast.Node | None) -> bool:
    """Whether a text changes what statements use that are no steps; the object it is of aside."""
    tree = _parsed(text) if node is None else node
    return tree is not None and any(part is not tree for part in ast.noted(tree, _definitions))


def _definitions(node: ast.Node) -> tuple[ast.Node, ...]:
    """The statements by which a procedure, a type, a right, a name comes or goes."""
    return tuple(part for part in node.walk() if _is_definition(part))


def _is_definition(part: ast.Node) -> bool:
    if isinstance(part, ast.DropObject):
        return part.kind.upper() not in _KINDS_USED_BY_STEPS
    if not isinstance(part, ast.Statement) or isinstance(part, _USED_BY_STEPS):
        return False
    verbs = ("Create", "Alter", "Drop", "Enable", "Add")
    return isinstance(part, ast.Permission) or type(part).__name__.startswith(verbs)


def counting(run: Callable[[frozenset[str]], _R]) -> _R:
    """The result of a search, begun again for as long as more turns out to count."""
    counted: frozenset[str] = frozenset()
    while True:
        try:
            return run(counted)
        except MoreCountsError as error:
            counted |= error.aspects


def _queries(node: ast.Node) -> list[tuple[str, frozenset[str], frozenset[str]]]:
    """(select or receive, columns it names, sources) of every query; a * of EXISTS reads nothing."""
    parts = list(node.walk())
    looked = {id(part.query) for part in parts if isinstance(part, ast.Exists)}
    found = []
    for part in parts:
        for clause in getattr(part, "outputs", None) or ():
            if any(isinstance(item.value, ast.Star) for item in clause.items):
                found.append(("select", frozenset("*"), frozenset(_targets(part))))
        if not isinstance(part, (ast.Query, ast.Receive)):
            continue
        below = list(part.walk())
        columns = {p.parts[-1].lower() for p in below if isinstance(p, ast.ColumnRef)}
        items = getattr(part if isinstance(part, ast.Receive) else part.body, "items", ())
        if id(part) not in looked and any(isinstance(item.value, ast.Star) for item in items):
            columns.add("*")
        if isinstance(part, ast.Receive):
            found.append(("receive", frozenset(columns), frozenset()))
            continue
        names = [p.name for p in below if isinstance(p, ast.TableRef)]
        sources = {name.name.lower() for name in names}
        sources |= {f"sys.{name.name.lower()}" for name in names if _is_system(name)}
        found.append(("select", frozenset(columns), frozenset(sources)))
    return found


def _targets(part: ast.Node) -> Iterator[str]:
    """What a statement with OUTPUT changes."""
    for below in part.walk():
        if isinstance(below, ast.ObjectName):
            yield below.name.lower()


def _is_system(name: ast.ObjectName) -> bool:
    return (name.schema or "").lower() in ("sys", "information_schema")


@lru_cache(maxsize=1024)
def _parsed(text: str) -> ast.Node | None:
    """The tree of a text; None for one that does not run, or is none of its own."""
    for quoted in (True, False):
        with suppress(TsqlSyntaxError):
            return parse_batch(text, 1, quoted)
    return None


@lru_cache(maxsize=4096)
def _worded(text: str) -> frozenset[str]:
    """What it reads, by words alone."""
    return frozenset(
        name for name, words in _WORDS.items() if name != "order" and words.search(text)
    )


@lru_cache(maxsize=4096)
def _code(text: str) -> str:
    """A text without its comments and literals. A comment inside a comment may leave some of it:
    too many words do no harm."""
    return _NO_CODE.sub(" ", text)


@lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def _batches(scenario: Scenario) -> Iterator[str]:
    for client in scenario.clients:
        yield from (*client.batches, client.on_cancel, client.on_error)
    yield from (fault.sql for fault in scenario.all_faults)


def _texts_of(item: Any) -> Iterator[Texted]:  # an object of any kind
    """Texts that run when an object is used."""
    yield getattr(item, "text", "") or "", getattr(item, "node", None)
    yield getattr(item, "definition", "") or "", None
    yield " ".join(getattr(item, "parts", ())), None
    if isinstance(item, Table):
        for column in item.columns:
            yield column.default_text, None
            yield column.computed.text if column.computed else "", None
