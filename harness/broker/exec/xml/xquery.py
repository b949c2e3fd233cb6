"""XQuery texts of the xml methods, turned into XPath 1.0.

Understood: paths with predicates and axes, the usual functions, comparisons, sql:variable() and
sql:column(), ``declare namespace`` prologs. FLWOR, constructors and conditionals are refused. The
translation is token by token: an absolute path starts below our wrapper element, an unprefixed
element name gets the default namespace, value comparisons (eq, lt ...) become general ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lxml import etree

from harness.broker.engine.errors import NotSupported, SqlError

_TOKEN = re.compile(
    r"""(?P<blank>\s+|\(:.*?:\))
      |(?P<string>"(?:[^"]|"")*"|'(?:[^']|'')*')
      |(?P<number>\d+(?:\.\d*)?|\.\d+)
      |(?P<name>[A-Za-z_][\w.-]*(?::(?:[A-Za-z_][\w.-]*|\*))?|\*:[A-Za-z_][\w.-]*)
      |(?P<sign>::|:=|//|\.\.|!=|<=|>=|<<|>>|[/.@()\[\],|=<>+*$-])""",
    re.VERBOSE | re.DOTALL,
)
_PROLOG = re.compile(
    r"""\s*declare\s+(?:namespace\s+(?P<prefix>[\w.-]+)\s*=|default\s+element\s+namespace\s+)\s*
        (?:"(?P<double>[^"]*)"|'(?P<single>[^']*)')\s*;""",
    re.VERBOSE,
)
_VALUE_COMPARISONS = {"eq": "=", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_WORD_OPERATORS = frozenset({"and", "or", "div", "mod", *_VALUE_COMPARISONS})
_REFUSED_WORDS = frozenset({"for", "let", "if", "some", "every", "element", "attribute", "order"})
_NODE_TESTS = frozenset({"text", "node", "comment", "processing-instruction"})
_FUNCTIONS = {
    "count": "count", "sum": "sum", "string": "string", "number": "number", "not": "not",
    "contains": "contains", "concat": "concat", "substring": "substring", "last": "last",
    "string-length": "string-length", "local-name": "local-name", "position": "position",
    "namespace-uri": "namespace-uri", "true": "true", "false": "false", "round": "round",
    "floor": "floor", "ceiling": "ceiling", "normalize-space": "normalize-space",
    "starts-with": "starts-with", "data": "", "fn:data": "", "empty": "not", "exists": "boolean",
}
_SINGLE_FUNCTIONS = frozenset(_FUNCTIONS) - {"data", "fn:data"}
_BUILT_IN_PREFIXES = {"xs": "http://www.w3.org/2001/XMLSchema",
                      "xsi": "http://www.w3.org/2001/XMLSchema-instance",
                      "sqltypes": "http://schemas.microsoft.com/sqlserver/2004/sqltypes"}
_ITSELF = frozenset({".", "data(.)", "string(.)", "(.)[1]"})
_DEFAULT_PREFIX = "redial-default"
_MAX_STEPS = 1000


@dataclass(slots=True)
class Token:
    """kind: string, number, name or sign."""

    kind: str
    text: str


@dataclass(slots=True)
class XPath:
    """A translated expression.

    evaluate(context node, variables) -> list of nodes, or a str, float or bool; singleton: at most
    one item by its form; outside: XPath variable name -> ("variable" | "column", name).
    """

    evaluate: Callable[..., object]
    singleton: bool
    outside: dict[str, tuple[str, str]] = field(default_factory=dict)


def _tokens(text: str, method: str) -> list[Token]:
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            if text[at] in "{}":
                raise NotSupported(f"XQuery constructors in {method}()")
            raise SqlError(2209, method, text[at], aborts="scope")
        if match.lastgroup != "blank":
            found.append(Token(match.lastgroup, match[0]))
        at = match.end()
        if len(found) > _MAX_STEPS:
            raise NotSupported(f"an XQuery of more than {_MAX_STEPS} tokens")
    return found


def compile_xquery(text: str, namespaces: Mapping[str | None, str], method: str) -> XPath:
    """Translate one XQuery text.

    namespaces: of WITH XMLNAMESPACES (None is DEFAULT). Raises 2209 for text that is no path, 2229
    for an undeclared prefix, NotSupported for what lies beyond paths.
    """
    known = {**_BUILT_IN_PREFIXES, **{p: uri for p, uri in namespaces.items() if p}}
    default = namespaces.get(None)
    body = text
    while match := _PROLOG.match(body):
        uri = match["double"] if match["double"] is not None else match["single"]
        if match["prefix"]:
            known[match["prefix"]] = uri
        else:
            default = uri
        body = body[match.end():]
    tokens = _tokens(body, method)
    if not tokens:
        raise SqlError(2209, method, "<EOF>", aborts="scope")
    if default:
        known[_DEFAULT_PREFIX] = default
    translation = _Translation(tokens, known, method)
    source = translation.run()
    used = {p: uri for p, uri in known.items() if re.search(rf"(?<![\w-]){re.escape(p)}:", source)}
    try:
        compiled = etree.XPath(source, namespaces=used or None, smart_strings=True)
    except etree.XPathSyntaxError:
        raise SqlError(2209, method, body.strip()[:30], aborts="scope") from None
    itself = "".join(token.text for token in tokens) in _ITSELF
    return XPath(_guarded(compiled, method, itself), _is_singleton(tokens), translation.outside)


def _guarded(compiled: etree.XPath, method: str, itself: bool) -> Callable[..., object]:
    def evaluate(context: object, **variables: object) -> object:
        if isinstance(context, str):
            # An attribute or text of .nodes(): libxml2 hands out its value, not the node.
            if itself:
                return [context]
            raise NotSupported(f"a path from an attribute or text node in {method}()")
        try:
            return compiled(context, **variables)
        except etree.XPathEvalError:
            raise SqlError(2209, method, "expression", aborts="scope") from None

    return evaluate


class _Translation:
    """One walk over the tokens."""

    def __init__(self, tokens: list[Token], known: Mapping[str, str], method: str) -> None:
        self.tokens = tokens
        self.known = known
        self.method = method
        self.outside: dict[str, tuple[str, str]] = {}
        self.at = 0

    def run(self) -> str:
        """The XPath text."""
        parts = []
        while self.at < len(self.tokens):
            parts.append(self._next())
            self.at += 1
        return " ".join(part for part in parts if part)

    def _look(self, distance: int) -> str:
        place = self.at + distance
        return self.tokens[place].text if 0 <= place < len(self.tokens) else ""

    def _at_start(self) -> bool:
        """True where an operand may begin: an absolute path, or a name that is no operator."""
        before = self.tokens[self.at - 1] if self.at else None
        if before is None:
            return True
        if before.kind == "name":
            return before.text in _WORD_OPERATORS and self.at >= 2 and \
                self.tokens[self.at - 2].text not in {"/", "//", "@", "::", "("}
        return before.kind == "sign" and before.text not in {")", "]", ".", "..", "*"}

    def _next(self) -> str:
        token = self.tokens[self.at]
        if token.kind == "string":
            return _literal(token.text)
        if token.kind == "number":
            return token.text
        if token.kind == "name":
            return self._name(token.text)
        return self._sign(token.text)

    def _sign(self, sign: str) -> str:
        if sign == "<" and self._at_start():
            raise NotSupported(f"XQuery constructors in {self.method}()")
        if sign in {":=", "$", "<<", ">>"}:
            raise NotSupported(f"XQuery operator {sign} in {self.method}()")
        if sign in {"/", "//"} and self._at_start():
            follows = self._look(1)
            if sign == "/" and follows in {"", ")", "]", ","}:
                return "/*"
            return "/*" + sign
        return sign

    def _name(self, name: str) -> str:
        follows = self._look(1)
        operand = self._at_start() or self._look(-1) in {"/", "//", "@", "::"}
        if not operand:
            if name not in _WORD_OPERATORS:
                raise SqlError(2209, self.method, name, aborts="scope")
            return _VALUE_COMPARISONS.get(name, name)
        if follows == "(":
            return self._function(name)
        if name in _REFUSED_WORDS and self._look(1) == "$":
            raise NotSupported(f"XQuery {name} in {self.method}()")
        if follows == "::":
            return name
        return self._qualified(name)

    def _qualified(self, name: str) -> str:
        prefix, colon, local = name.rpartition(":")
        if prefix == "*":
            return f"*[local-name() = '{local}']"
        if colon:
            if prefix not in self.known:
                raise SqlError(2229, self.method, prefix, aborts="scope")
            return name
        attribute = self._look(-1) == "@" or \
            (self._look(-1) == "::" and self._look(-2) == "attribute")
        return name if attribute or _DEFAULT_PREFIX not in self.known else \
            f"{_DEFAULT_PREFIX}:{name}"

    def _function(self, name: str) -> str:
        if name in {"sql:variable", "sql:column"}:
            return self._outside_value(name)
        bare = name.removeprefix("fn:")
        if bare in _NODE_TESTS:
            return bare
        if bare in {"if", "element", "attribute", "document-node"} or bare not in _FUNCTIONS:
            raise NotSupported(f"XQuery function {name}() in {self.method}()")
        return _FUNCTIONS[bare]

    def _outside_value(self, name: str) -> str:
        """sql:variable("@x") becomes an XPath variable filled in at run time."""
        argument, close = self.tokens[self.at + 2 : self.at + 3], self._look(3)
        if not argument or argument[0].kind != "string" or close != ")":
            raise SqlError(2209, self.method, name, aborts="scope")
        self.at += 3
        key = f"sql{len(self.outside)}"
        self.outside[key] = (name.partition(":")[2], argument[0].text[1:-1])
        return f"${key}"


def _literal(text: str) -> str:
    """A string constant; XPath 1.0 has no way to double a quote inside one."""
    quote = text[0]
    value = text[1:-1].replace(quote * 2, quote)
    for entity, char in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"),
                         ("&amp;", "&")):
        value = value.replace(entity, char)
    if '"' not in value:
        return f'"{value}"'
    if "'" not in value:
        return f"'{value}'"
    parts = ", '\"', ".join(f'"{piece}"' for piece in value.split('"'))
    return f"concat({parts})"


def _is_singleton(tokens: list[Token]) -> bool:
    """At most one item by the form of the expression (what .value() demands)."""
    words = [token.text for token in tokens]
    if len(words) >= 3 and words[0] in {"data", "fn:data"} and _closes(words, 1) == len(words) - 1:
        return _is_singleton(tokens[2:-1])
    if len(words) == 1:
        return words[0] in {".", ".."} or tokens[0].kind in {"string", "number"}
    if words[0] == "(":
        end = _closes(words, 0)
        rest = words[end + 1 :]
        if not rest:
            return _is_singleton_words(words[1:end])
        return rest[0] == "[" and rest[1].isdigit() and rest[2:3] == ["]"] and \
            _steps_single(rest[3:])
    return _is_singleton_words(words)


def _is_singleton_words(words: list[str]) -> bool:
    if len(words) >= 2 and words[1] == "(" and words[0] not in _NODE_TESTS:
        if _closes(words, 1) != len(words) - 1:
            return True
        return words[0].removeprefix("fn:") in _SINGLE_FUNCTIONS or words[0].startswith("sql:")
    return _steps_single(words if words[:1] in (["/"], ["//"]) else ["/", *words])


def _closes(words: list[str], start: int) -> int:
    """Where the parenthesis or bracket that opens at ``start`` closes."""
    depth = 0
    for at in range(start, len(words)):
        if words[at] in {"(", "["}:
            depth += 1
        elif words[at] in {")", "]"}:
            depth -= 1
            if not depth:
                return at
    return len(words) - 1


def _steps_single(words: list[str]) -> bool:
    """Each step of a path yields at most one node: a position, an attribute, or the node itself."""
    at = 0
    while at < len(words):
        if words[at] != "/":
            return False
        at += 1
        step = words[at : at + 1]
        if not step:
            return True
        if step == ["@"]:
            at += 2
            if words[at - 1] == "*":
                return False
        elif step[0] in {".", ".."}:
            at += 1
        else:
            at += 1
            if words[at : at + 1] == ["("]:
                at = _closes(words, at) + 1
            # Any position among the predicates makes the step single: a[1], a[@x="y"][1].
            single = False
            while words[at : at + 1] == ["["]:
                end = _closes(words, at)
                single = single or (end == at + 2 and words[at + 1].isdigit()) or \
                    words[at + 1 : end] == ["last", "(", ")"]
                at = end + 1
            if not single:
                return False
    return True
