"""The tree an xml method works on, and its way back to text.

XPath over lxml knows neither attribute nor text nodes as objects of their own, so the methods use
this tree: every node has its parent, its place in document order and its name's URI. A tree made
by ``tree_of`` is shared and never changed; .modify() works on a ``fresh_tree``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any
from xml.parsers import expat

from redial_broker.engine.errors import SqlError

DOCUMENT, ELEMENT, ATTRIBUTE, TEXT = "document", "element", "attribute", "text"
COMMENT, PI = "comment", "processing-instruction"
NODE_PLACES = frozenset({ELEMENT, DOCUMENT, "node"})
"""Kinds that can have children; "node" is the static type of what may be one."""
XML_URI = "http://www.w3.org/XML/1998/namespace"
XSI_URI = "http://www.w3.org/2001/XMLSchema-instance"

_LEAVES = frozenset({ATTRIBUTE, TEXT, COMMENT, PI})
_NO_NODES: Any = ()
"""Shared and never changed."""

MAX_LEVELS = 128
"""Levels of elements an xml instance may have (6335)."""

TREES_KEPT = 128
"""Parsed values that are kept, of each kind of tree."""

TREE_TEXT_LIMIT = 1 << 20
"""Characters of the longest value whose tree is kept."""

WRAPPER = "redial-xml-content"
"""The element around content while it is parsed; it is never written."""

OPENING, CLOSING = f"<{WRAPPER}>", f"</{WRAPPER}>"


class Node:
    """One node. name: local name (target of a processing instruction); uri: "" for none.

    text: value of an attribute, text, comment or instruction; declared: (prefix, uri) pairs that
    stand on the element itself; order: place in document order; built: made by a constructor.
    """

    __slots__ = (
        "attributes",
        "built",
        "children",
        "declared",
        "kind",
        "name",
        "order",
        "parent",
        "prefix",
        "text",
        "uri",
    )

    def __init__(
        self,
        kind: str,
        name: str = "",
        uri: str = "",
        prefix: str = "",
        text: str = "",
        parent: Node | None = None,
    ) -> None:
        self.kind, self.name, self.uri, self.prefix, self.text = kind, name, uri, prefix, text
        self.parent = parent
        # Most nodes are texts and attributes, which never get any of these.
        leaf = kind in _LEAVES
        self.children: list[Node] = _NO_NODES if leaf else []
        self.attributes: list[Node] = _NO_NODES if leaf else []
        self.declared: list[tuple[str, str]] = _NO_NODES
        self.order = 0
        self.built = False

    def string(self) -> str:
        """The string value (XPath data model)."""
        if self.kind not in {ELEMENT, DOCUMENT}:
            return self.text
        children = self.children
        if len(children) == 1 and children[0].kind == TEXT:
            return children[0].text
        return "".join(node.text for node in self.walk() if node.kind == TEXT)

    def walk(self) -> Iterator[Node]:
        """Everything below in document order, attributes left out."""
        for child in self.children:
            yield child
            if child.children:
                yield from child.walk()

    def append(self, child: Node) -> None:
        """Add a child or an attribute at the end; neighbouring texts become one."""
        child.parent = self
        if child.kind == ATTRIBUTE:
            self.attributes.append(child)
        elif child.kind == TEXT and self.children and self.children[-1].kind == TEXT:
            self.children[-1].text += child.text
        else:
            self.children.append(child)

    def scope(self) -> dict[str, str]:
        """prefix -> uri of every namespace declared here or above."""
        found: dict[str, str] = {}
        node: Node | None = self
        while node is not None:
            for prefix, uri in node.declared:
                found.setdefault(prefix, uri)
            node = node.parent
        return found

    def copy(self) -> Node:
        """The node and everything below it, with no parent."""
        made = Node(self.kind, self.name, self.uri, self.prefix, self.text)
        made.declared = list(self.declared)
        made.built = self.built
        for attribute in self.attributes:
            made.append(attribute.copy())
        for child in self.children:
            made.append(child.copy())
        return made


class _Builder:
    """expat's events as a tree."""

    def __init__(self) -> None:
        self.root = Node(DOCUMENT)
        self.open = [self.root]
        self.scopes: list[dict[str, str]] = [{"": "", "xml": XML_URI}]
        self.count = 0
        self.at_wrapper = True

    def start(self, tag: str, flat: list[str]) -> None:
        if self.at_wrapper:
            self.at_wrapper = False
            return
        if len(self.open) > MAX_LEVELS:
            raise SqlError(6335, MAX_LEVELS)
        scope, parent = self.scopes[-1], self.open[-1]
        pairs = list(zip(flat[::2], flat[1::2])) if flat else ()
        declared = (
            [
                (name[6:], value)
                for name, value in pairs
                if name == "xmlns" or name.startswith("xmlns:")
            ]
            if flat
            else None
        )
        if declared:
            scope = {**scope, **dict(declared)}
        self.scopes.append(scope)
        prefix, _, local = tag.rpartition(":") if ":" in tag else ("", "", tag)
        node = self._numbered(Node(ELEMENT, local, scope[prefix], prefix, "", parent))
        if declared:
            node.declared = declared
        for name, value in pairs:
            if declared and (name == "xmlns" or name.startswith("xmlns:")):
                continue
            prefix, _, local = name.rpartition(":") if ":" in name else ("", "", name)
            uri = scope[prefix] if prefix else ""
            node.attributes.append(self._numbered(Node(ATTRIBUTE, local, uri, prefix, value, node)))
        parent.children.append(node)
        self.open.append(node)

    def _numbered(self, node: Node) -> Node:
        self.count += 1
        node.order = self.count
        return node

    def end(self, tag: str) -> None:
        if len(self.open) > 1:
            self.open.pop()
            self.scopes.pop()

    def text(self, data: str) -> None:
        parent = self.open[-1]
        if parent.children and parent.children[-1].kind == TEXT:
            parent.children[-1].text += data
        else:
            parent.children.append(self._numbered(Node(TEXT, "", "", "", data, parent)))

    def comment(self, data: str) -> None:
        self.open[-1].append(self._numbered(Node(COMMENT, text=data)))

    def instruction(self, target: str, data: str) -> None:
        self.open[-1].append(self._numbered(Node(PI, target, text=data)))


def fresh_tree(text: str) -> Node:
    """The document node of an xml value; the caller may change the tree.

    Raises 6335 beyond 128 levels, 9420 for a character XML does not allow.
    """
    builder = _Builder()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.ordered_attributes = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    parser.CommentHandler = builder.comment
    parser.ProcessingInstructionHandler = builder.instruction
    try:
        parser.Parse(OPENING + text + CLOSING, True)
    except expat.ExpatError as error:
        raise SqlError(9420, error.lineno, max(1, error.offset - len(OPENING) + 1)) from None
    return builder.root


@lru_cache(maxsize=TREES_KEPT)
def _cached(text: str) -> Node:
    return fresh_tree(text)


def tree_of(text: str) -> Node:
    """The document node of an xml value; shared, so nobody may change it."""
    return _cached(text) if len(text) <= TREE_TEXT_LIMIT else fresh_tree(text)


def escape_text(text: str) -> str:
    """Text as element content."""
    return (
        text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#x0D;")
    )


def escape_value(text: str) -> str:
    """Text as an attribute's value."""
    return escape_text(text).replace('"', "&quot;").replace("\n", "&#x0A;").replace("\t", "&#x09;")


class Writer:
    """Writes nodes out of their document.

    A namespace that was declared above the written node is declared again where it is used: under
    a prefix of the query's own prolog when it has one, else as p1, p2, ... (observed,
    F-220).
    """

    def __init__(self, prolog: Mapping[str, str] | None = None) -> None:
        self.prolog = dict(prolog or {})
        self.count = 0
        self.parts: list[str] = []

    def write(self, nodes: Iterable[Node]) -> str:
        """The nodes as one xml value."""
        for node in nodes:
            self._node(node, {"": "", "xml": XML_URI})
        return "".join(self.parts)

    def _node(self, node: Node, scope: dict[str, str]) -> None:
        if node.kind == ELEMENT:
            self._element(node, scope)
        elif node.kind == DOCUMENT:
            for child in node.children:
                self._node(child, scope)
        elif node.kind == COMMENT:
            self.parts.append(f"<!--{node.text}-->")
        elif node.kind == PI:
            self.parts.append(f"<?{node.name} {node.text}?>" if node.text else f"<?{node.name}?>")
        else:
            self.parts.append(escape_text(node.text))

    def _element(self, node: Node, scope: dict[str, str]) -> None:
        own = [pair for pair in node.declared if scope.get(pair[0]) != pair[1]]
        scope = {**scope, **dict(own)}
        marks = [_declaration(prefix, uri) for prefix, uri in own]
        prefix = self._prefix(node, scope, marks, element=True)
        for attribute in node.attributes:
            name = self._prefix(attribute, scope, marks, element=False)
            marks.append(f' {name}="{escape_value(attribute.text)}"')
        self.parts.append(f"<{prefix}{''.join(marks)}")
        if not node.children:
            self.parts.append("/>")
            return
        self.parts.append(">")
        for child in node.children:
            self._node(child, scope)
        self.parts.append(f"</{prefix}>")

    def _prefix(self, node: Node, scope: dict[str, str], marks: list[str], element: bool) -> str:
        """The name to write, after declaring its namespace where nothing in scope does."""
        if not node.uri:
            if element and scope.get(""):
                scope[""] = ""
                marks.append(_declaration("", ""))
            return node.name
        written = f"{node.prefix}:{node.name}" if node.prefix else node.name
        if scope.get(node.prefix) == node.uri and (element or node.prefix):
            return written
        prefix = next(
            (
                p
                for p, uri in self.prolog.items()
                if uri == node.uri and (p or element) and scope.get(p, "") in {"", uri}
            ),
            None,
        )
        if prefix is None and node.built and node.prefix not in scope:
            prefix = node.prefix
        if prefix is None:
            prefix = next((p for p, uri in scope.items() if p and uri == node.uri), None)
            if prefix is not None:
                return f"{prefix}:{node.name}"
            prefix = self._generated(scope)
        scope[prefix] = node.uri
        marks.append(_declaration(prefix, node.uri))
        return f"{prefix}:{node.name}" if prefix else node.name

    def _generated(self, scope: dict[str, str]) -> str:
        while True:
            self.count += 1
            if f"p{self.count}" not in scope:
                return f"p{self.count}"


def _declaration(prefix: str, uri: str) -> str:
    return f' xmlns{":" if prefix else ""}{prefix}="{escape_value(uri)}"'
