"""Mutants of a module made from its own syntax tree: each guard, hint, order, commit and predicate
taken away or swapped, one at a time.

It knows T-SQL and no module: ``mutations`` takes the text of one CREATE OR ALTER PROCEDURE. A
mutant's name says what was changed where, by the words of the text and not by line numbers, so that
it stays the same while the text around it changes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from redial.tsql import ast as t
from redial.tsql import parse_batch

NOTHING = "BEGIN IF 1 = 0 RETURN; END"
"""Stands where a statement was, whatever it stood in."""

TAKEN_AWAY = {
    t.BeginTransaction: "transaction",
    t.Commit: "transaction",
    t.Rollback: "transaction",
    t.SaveTransaction: "transaction",
    t.Send: "statement",
    t.EndConversation: "statement",
    t.BeginTimer: "statement",
    t.ExecuteProcedure: "statement",
    t.Insert: "statement",
    t.Update: "statement",
    t.Delete: "statement",
    t.SetOption: "statement",
    t.SetIsolationLevel: "statement",
    t.SetValue: "statement",
    t.Throw: "statement",
}
"""Statements that are taken away, each on its own, and what their mutants are called."""

MOVED = (
    t.BeginTransaction,
    t.Commit,
    t.Rollback,
    t.Send,
    t.EndConversation,
    t.BeginTimer,
    t.BeginDialog,
    t.ExecuteProcedure,
    t.Insert,
    t.Update,
    t.Delete,
    t.Receive,
    t.SelectStatement,
)
"""A statement with one of these in it changes places with its neighbour of the same sort."""

WORD = re.compile(r"@{0,2}\w+|<>|[<>]=?|=")
QUIET = frozenset(
    {"set", "begin", "end", "if", "execute", "audit", "as", "from", "where", "and", "or", "is", "n"}
)


@dataclass(frozen=True, slots=True)
class Mutation:
    """One mutant."""

    name: str
    """``procedure.kind.words[.n]``."""
    procedure: str
    kind: str
    """What was done."""
    line: int
    """Of the module's text."""
    text: str
    """All of the changed module."""
    start: int = 0
    end: int = 0
    """start, end: the place of that text that was changed."""


def mutations(text: str) -> list[Mutation]:
    """Every mutant of a module, in the order of its text. text: one batch."""
    batch = parse_batch(text)
    module = next(s for s in batch.statements if isinstance(s, t.ModuleDefinition))
    maker = _Maker(text, module.name.name)
    for below in module.walk():
        maker.look(below)
    found = sorted(maker.found, key=lambda each: each[2])
    seen: Counter[str] = Counter()
    made: dict[str, Mutation] = {}
    texts = {text}
    for name, kind, pos, start, end, new in found:
        changed = text[:start] + new + text[end:]
        if changed in texts:
            continue
        texts.add(changed)
        seen[name] += 1
        whole = name if seen[name] == 1 else f"{name}.{seen[name]}"
        line = text.count("\n", 0, pos) + 1
        made[whole] = Mutation(whole, module.name.name, kind, line, changed, start, end)
    return list(made.values())


class _Maker:
    """Collects (name, kind, place of its words, start, end and new text of the change)."""

    def __init__(self, text: str, procedure: str) -> None:
        self.text = text
        self.procedure = procedure
        self.found: list[tuple[str, str, int, int, int, str]] = []

    def look(self, node: t.Node) -> None:
        """Every change of one node, without those of what is below it."""
        if type(node) in TAKEN_AWAY:
            self._replace(TAKEN_AWAY[type(node)], node, node, NOTHING)
        if isinstance(node, (t.If, t.While)):
            self._guard(node)
        if isinstance(node, (t.And, t.Or)):
            for operand in node.operands:
                kind = "conjunct" if isinstance(node, t.And) else "disjunct"
                self._replace(kind, operand, operand, "1 = 1" if kind == "conjunct" else "1 = 0")
        if isinstance(node, t.InList) and len(node.items) > 1:
            for item in node.items:
                self._without("in-list", list(node.items), item)
        where = getattr(node, "where", None)
        if isinstance(where, t.Predicate):
            self._replace("where", where, where, "1 = 1")
        self._hints(node)
        self._order(node)
        self._types(node)
        for statements in _lists(node):
            self._swaps(statements)
        if isinstance(node, t.EndConversation) and not node.cleanup:
            end = node.handle.end
            self._change("cleanup", node, end, node.end, " WITH CLEANUP")
        if isinstance(node, t.BeginTimer):
            timeout = node.timeout
            self._change(
                "minutes",
                node,
                timeout.pos,
                timeout.end,
                f"{self.text[timeout.pos : timeout.end]} * 60",
            )

    # ------------------------------------------------------------------ kinds
    def _guard(self, node: t.If | t.While) -> None:
        condition = node.condition
        if isinstance(node, t.If):
            self._replace("always", condition, condition, "1 = 1")
        if " ".join(self._slice(condition).split()) != "1 = 1":
            self._replace("never", condition, condition, "1 = 0")

    def _without(self, kind: str, items: list[t.Node], item: t.Node) -> None:
        """A list of values without one of them."""
        at = items.index(item)
        start, end = (items[at - 1].end, item.end) if at else (item.pos, items[1].pos)
        self._change(kind, item, start, end, "")

    def _hints(self, node: t.Node) -> None:
        hints = getattr(node, "hints", None)
        if not isinstance(hints, list) or not hints or not isinstance(hints[0], t.TableHint):
            return
        for hint in hints:
            where = f"{hint.name} {getattr(getattr(node, 'name', None), 'name', '')}"
            if len(hints) == 1:
                start = self.text.upper().rindex("WITH", 0, hint.pos)
                end = self.text.index(")", hint.end) + 1
                self._change("hint", hint, start, end, "", where)
                continue
            at = hints.index(hint)
            start, end = (hints[at - 1].end, hint.end) if at else (hint.pos, hints[1].pos)
            self._change("hint", hint, start, end, "", where)
            if hint.name.upper() == "UPDLOCK":
                self._change("hint", hint, hint.pos, hint.end, "HOLDLOCK", f"HOLDLOCK for {where}")
            if hint.name.upper() == "NOWAIT":
                self._change("hint", hint, hint.pos, hint.end, "READPAST", f"READPAST for {where}")

    def _order(self, node: t.Node) -> None:
        order = getattr(node, "order_by", None)
        if not order or not isinstance(node, t.Query) or node.offset is not None:
            return
        start = self.text.upper().rindex("ORDER", 0, order[0].pos)
        self._change("order", order[0], start, order[-1].end, "", "no order")
        if not order[0].descending:
            self._change("order", order[0], order[0].end, order[0].end, " DESC", "descending")

    def _types(self, node: t.Node) -> None:
        if isinstance(node, t.DataType) and node.arguments == ("MAX",):
            short = self._slice(node).split("(")[0] + "(1)"
            self._change(
                "short", node, node.pos, node.end, short, self.text[: node.pos].split()[-1]
            )

    def _swaps(self, statements: list[t.Statement]) -> None:
        for first, second in pairwise(statements):
            if _moves(first) and _moves(second):
                between = self.text[first.end : second.pos]
                self._change(
                    "swap",
                    first,
                    first.pos,
                    second.end,
                    self._slice(second) + between + self._slice(first),
                    f"{self._words(first, 3)} and {self._words(second, 3)}",
                )

    # ------------------------------------------------------------------ making
    def _replace(self, kind: str, named: t.Node, node: t.Node, new: str) -> None:
        self._change(kind, named, node.pos, node.end, new)

    def _change(
        self, kind: str, named: t.Node, start: int, end: int, new: str, words: str = ""
    ) -> None:
        said = _slug(words) if words else self._words(named)
        self.found.append((f"{self.procedure}.{kind}.{said}", kind, named.pos, start, end, new))

    def _slice(self, node: t.Node) -> str:
        return self.text[node.pos : node.end]

    def _words(self, node: t.Node, most: int = 4) -> str:
        return _slug(re.sub(r"/\*.*?\*/", " ", self._slice(node), flags=re.S), most)


def _slug(text: str, most: int = 6) -> str:
    """The first telling words of a text, joined by dashes."""
    said = {"<>": "not", "=": "is", "<": "below", ">": "above", ">=": "least", "<=": "most"}
    words = [
        said.get(word, word.strip("@")) for word in WORD.findall(text) if word.lower() not in QUIET
    ]
    return "-".join(words[:most]) or "it"


def _moves(statement: t.Statement) -> bool:
    """Whether there is something in it that others see or that stops here."""
    return any(isinstance(below, MOVED) for below in statement.walk())


def _lists(node: t.Node) -> Iterator[list[t.Statement]]:
    """The lists of statements right below a node."""
    for name in ("statements", "body", "handler"):
        found = getattr(node, name, None)
        if isinstance(found, list) and found and isinstance(found[0], t.Statement):
            yield found
