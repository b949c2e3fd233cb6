"""Constructors: direct elements, comments and instructions, and the computed forms.

Source: "XML construction (XQuery)" page; what is boundary white space and which attribute goes
where: F-220.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from redial_broker.engine.errors import SqlError
from redial_broker.exec.xml.nodes import ATTRIBUTE, COMMENT, DOCUMENT, ELEMENT, PI, TEXT, Node
from redial_broker.exec.xml.xquery.operators import data
from redial_broker.exec.xml.xquery.scanner import NC_NAME, Scanner
from redial_broker.exec.xml.xquery.static import Env, Expression, Run
from redial_broker.exec.xml.xquery.types import EMPTY, OPTIONAL, UNTYPED, Type
from redial_broker.exec.xml.xquery.values import text_of

_NAME = re.compile(rf"{NC_NAME}(?::{NC_NAME})?")
_COMPUTED = frozenset({"element", "attribute", "text", "comment", "processing-instruction"})


@dataclass(slots=True)
class Element:
    """An element constructor."""

    name: str
    uri: str
    prefix: str
    declared: list[tuple[str, str]] = field(default_factory=list)
    attributes: list[tuple[str, str, str, str | Run]] = field(default_factory=list)
    """(name, uri, prefix, text or closure)."""
    content: list[str | Run] = field(default_factory=list)
    """Text as str, everything else as the closure of its items."""

    def build(self, env: Env) -> list[Node]:
        """The new element."""
        node = Node(ELEMENT, self.name, self.uri, self.prefix)
        node.built, node.declared = True, list(self.declared)
        for name, uri, prefix, value in self.attributes:
            text = value if isinstance(value, str) else joined(value(env))
            add_attribute(node, made(ATTRIBUTE, name, uri, prefix, text))
        for part in self.content:
            if isinstance(part, str):
                node.append(Node(TEXT, text=part))
            else:
                fill(node, part(env))
        return [node]


def made(kind: str, name: str = "", uri: str = "", prefix: str = "", text: str = "") -> Node:
    """A node of a constructor."""
    node = Node(kind, name, uri, prefix, text)
    node.built = True
    return node


def joined(items: list[Any]) -> str:
    """Atomized items with one blank between them."""
    return " ".join(text_of(item) for item in items)


def add_attribute(node: Node, attribute: Node) -> None:
    """Raises 6308 for a name the element has already, 6307 behind a child that is no text."""
    if any(each.name == attribute.name and each.uri == attribute.uri for each in node.attributes):
        raise SqlError(6308, attribute.name)
    if any(child.kind != TEXT for child in node.children):
        raise SqlError(6307)
    node.append(attribute)


def fill(node: Node, items: list[Any]) -> None:
    """Copies of nodes, and runs of atomic values as one text, into a new element."""
    run: list[str] = []
    for item in [*items, None]:
        if item is not None and not isinstance(item, Node):
            run.append(text_of(item))
            continue
        if run:
            text = " ".join(run)
            run = []
            if text:
                node.append(Node(TEXT, text=text))
        if item is None:
            break
        for part in item.children if item.kind == DOCUMENT else [item]:
            if part.kind == ATTRIBUTE:
                add_attribute(node, part.copy())
            else:
                node.append(part.copy())


class ConstructorParser(Scanner):
    """Reads constructors; the expressions in braces are the business of the class built on it."""

    def expression(self) -> Expression:
        """Read ``a, b``."""
        raise NotImplementedError

    def single(self) -> Expression:
        """Read one expression."""
        raise NotImplementedError

    # ------------------------------------------------------------------ computed
    def at_computed(self) -> bool:
        """Whether ``element name {``, ``text {`` or their like comes next."""
        token = self.token
        if token.kind != "name" or token.text not in _COMPUTED:
            return False
        follows = self.after(token)
        return follows.text == "{" or (
            follows.kind == "name"
            and token.text not in {"text", "comment"}
            and self.after(follows).text == "{"
        )

    def computed(self) -> Expression:
        """Read a computed constructor; only constant names (9315)."""
        static = self.static
        kind = self.next().text
        if kind == "comment":
            raise static.error(9326)
        if kind == "processing-instruction":
            raise static.error(9325)
        if kind == "text":
            return self._computed_text()
        if self.token.kind != "name":
            raise static.error(9315)
        name = self.next().text
        self.expect("{")
        body = None if self.token.text == "}" else self.expression()
        self.expect("}")
        if kind == "attribute":
            return self._computed_attribute(name, body)
        uri, prefix, local = self._element_name(name)
        element = Element(local, uri, prefix)
        if body is not None:
            element.content.append(body.run)
        return Expression(Type(ELEMENT, name=name), element.build, True)

    def _computed_text(self) -> Expression:
        self.expect("{")
        body = self.single()
        if self.token.text != "}":
            raise self.static.error(2205, "}")
        self.next()
        run = data(self.static, body).run

        def build(env: Env) -> list[Node]:
            items = run(env)
            return [made(TEXT, text=joined(items))] if items else []

        return Expression(Type(TEXT, OPTIONAL), build, True)

    def _computed_attribute(self, name: str, body: Expression | None) -> Expression:
        prefix, _, local = name.rpartition(":")
        if "xmlns" in (prefix, name):
            raise self.static.error(9316)
        uri = self.static.uri(prefix) if prefix else ""
        run = data(self.static, body).run if body is not None else (lambda env: [])
        return Expression(
            Type(ATTRIBUTE, name=name, content=UNTYPED),
            lambda env: [made(ATTRIBUTE, local, uri, prefix, joined(run(env)))],
            True,
        )

    def _element_name(self, name: str) -> tuple[str, str, str]:
        """(uri, prefix, local name) of an element's name."""
        prefix, _, local = name.rpartition(":")
        return (self.static.uri(prefix) if prefix else self.static.default), prefix, local

    # ------------------------------------------------------------------ direct
    def direct(self) -> Expression:
        """Read ``<..``: an element, a comment or a processing instruction."""
        start = self.token.start
        self.at = start
        if self.text.startswith("<!--", start):
            return self._constant(self._comment_node(), COMMENT)
        if self.text.startswith("<?", start):
            return self._constant(self._instruction(), PI)
        if self.text.startswith("<!", start):
            raise self.static.error(2209, "<!")
        element = self._element()
        return Expression(Type(ELEMENT, name=element.name), element.build, True)

    def _constant(self, node: Node, kind: str) -> Expression:
        return Expression(Type(kind), lambda env: [node.copy()], True)

    def _comment_node(self) -> Node:
        end = self.text.find("-->", self.at + 4)
        if end < 0:
            raise self.static.error(2209, "<eof>")
        body = self.text[self.at + 4 : end]
        if "--" in body or body.endswith("-"):
            raise self.static.error(9322)
        self.at = end + 3
        return made(COMMENT, text=body)

    def _instruction(self) -> Node:
        end = self.text.find("?>", self.at + 2)
        if end < 0:
            raise self.static.error(2272)
        body = self.text[self.at + 2 : end]
        match = _NAME.match(body)
        if match is None:
            raise self.static.error(2278, body[:1])
        if match[0].lower() == "xml":
            raise self.static.error(2294)
        self.at = end + 2
        return made(PI, match[0], text=body[match.end() :].lstrip())

    def _raw_name(self) -> str:
        match = _NAME.match(self.text, self.at)
        if match is None:
            raise self.static.error(2209, self.text[self.at : self.at + 1] or "<eof>")
        self.at = match.end()
        return match[0]

    def _element(self) -> Element:
        self.at += 1
        tag = self._raw_name()
        with self.static.scoped():
            marks = self._marks()
            declared = self._declare(marks)
            uri, prefix, local = self._element_name(tag)
            element = Element(local, uri, prefix, declared)
            for name, value in marks:
                element.attributes.append(self._attribute(name, value))
            if self.text.startswith("/>", self.at):
                self.at += 2
                return element
            self.at += 1
            self._content(element)
        self._end_tag(tag)
        return element

    def _declare(self, marks: list[tuple[str, str | Run]]) -> list[tuple[str, str]]:
        """Take the namespace declarations out of the attributes."""
        declared = []
        for name, value in list(marks):
            if name != "xmlns" and not name.startswith("xmlns:"):
                continue
            if not isinstance(value, str):
                raise self.static.error(9338)
            prefix = name[6:]
            declared.append((prefix, value))
            marks.remove((name, value))
            if prefix:
                self.static.namespaces[prefix] = value
            else:
                self.static.default = value
        return declared

    def _attribute(self, name: str, value: str | Run) -> tuple[str, str, str, str | Run]:
        prefix, _, local = name.rpartition(":")
        return local, self.static.uri(prefix) if prefix else "", prefix, value

    def _marks(self) -> list[tuple[str, str | Run]]:
        """The attributes of a start tag as written; the cursor stops at > or />."""
        found: list[tuple[str, str | Run]] = []
        while True:
            while self.at < len(self.text) and self.text[self.at].isspace():
                self.at += 1
            if self.text.startswith((">", "/>"), self.at):
                return found
            name = self._raw_name()
            if any(name == other for other, _ in found):
                raise self.static.error(2271, name)
            self.expect("=")
            self.at = self._skip(self.at)
            found.append((name, self._attribute_value()))

    def _attribute_value(self) -> str | Run:
        """Text, or exactly one expression in braces (9313)."""
        quote = self.text[self.at : self.at + 1]
        if quote not in {'"', "'"}:
            raise self.static.error(9317, self.token.text)
        self.at += 1
        text, run = [], None
        while True:
            char = self.text[self.at : self.at + 1]
            if not char:
                raise self.static.error(2209, "<eof>")
            if char == quote:
                if not self.text.startswith(quote * 2, self.at):
                    self.at += 1
                    break
                text.append(quote)
                self.at += 2
            elif self.text.startswith(("{{", "}}"), self.at):
                text.append(char)
                self.at += 2
            elif char == "{":
                if text or run is not None:
                    raise self.static.error(9313)
                run = self._enclosed(atoms=True)
            elif char == "}":
                raise self.static.error(9324)
            else:
                text.append(char)
                self.at += 1
        if run is not None:
            if text:
                raise self.static.error(9313)
            return run
        return self.entities("".join(text))

    def _enclosed(self, atoms: bool = False) -> Run:
        """Read ``{expression}``."""
        self.at += 1
        expr = self.expression()
        if self.token.text != "}":
            raise self.static.error(2209, self.token.text)
        self.next()
        return data(self.static, expr).run if atoms and expr.type.kind != EMPTY else expr.run

    def _content(self, element: Element) -> None:
        """Read up to the end tag; text of blanks alone between marks is dropped."""
        text: list[str] = []
        kept = False

        def flush() -> None:
            nonlocal kept
            whole = "".join(text)
            if whole and (kept or whole.strip()):
                element.content.append(whole)
            text.clear()
            kept = False

        while True:
            char = self.text[self.at : self.at + 1]
            if not char:
                raise self.static.error(2209, "<eof>")
            if self.text.startswith("</", self.at):
                flush()
                return
            if self.text.startswith("<![CDATA[", self.at):
                end = self.text.find("]]>", self.at)
                if end < 0:
                    raise self.static.error(2273)
                text.append(self.text[self.at + 9 : end])
                kept, self.at = True, end + 3
            elif char == "<":
                flush()
                element.content.append(self._child())
            elif self.text.startswith(("{{", "}}"), self.at):
                text.append(char)
                self.at += 2
            elif char == "{":
                flush()
                element.content.append(self._enclosed())
            elif char == "}":
                raise self.static.error(9324)
            elif char == "&":
                end = self.text.find(";", self.at)
                piece = self.text[self.at : end + 1 if end > 0 else len(self.text)]
                text.append(self.entities(piece))
                kept, self.at = True, self.at + len(piece)
            else:
                text.append(char)
                self.at += 1

    def _child(self) -> Run:
        if self.text.startswith("<!--", self.at):
            node = self._comment_node()
            return lambda env: [node]
        if self.text.startswith("<?", self.at):
            node = self._instruction()
            return lambda env: [node]
        return self._element().build

    def _end_tag(self, tag: str) -> None:
        line = self.text.count("\n", 0, self.at) + 1
        self.at += 2
        name = self._raw_name()
        if name != tag:
            raise self.static.error(2323, name, tag, line)
        self.at = self._skip(self.at)
        if not self.text.startswith(">", self.at):
            raise self.static.error(2209, self.token.text)
        self.at += 1
