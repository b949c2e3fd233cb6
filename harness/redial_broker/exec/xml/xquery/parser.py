"""The grammar of XQuery as SQL Server has it, compiled while it is read.

Source: "XQuery language reference". What the server itself refuses raises its own number (9335 and
kin); fn:id and the QName functions are refused by name.
"""

from __future__ import annotations

from decimal import Decimal

from redial_broker.exec.xml.nodes import ATTRIBUTE, COMMENT, ELEMENT, PI, TEXT
from redial_broker.exec.xml.xquery import functions, operators, paths
from redial_broker.exec.xml.xquery.constructors import ConstructorParser
from redial_broker.exec.xml.xquery.flwor import for_let, quantified
from redial_broker.exec.xml.xquery.static import BUILT_IN, Expression
from redial_broker.exec.xml.xquery.types import (
    DECIMAL,
    DOUBLE,
    EMPTY,
    INTEGER,
    NODE,
    ONE,
    OPTIONAL,
    STRING,
    Type,
)
from redial_broker.exec.xml.xquery.values import Atomic, exact

_KIND_TESTS = {"text": TEXT, "node": NODE, "comment": COMMENT, "processing-instruction": PI}
_UNSUPPORTED = frozenset({"typeswitch", "validate", "ordered", "unordered"})
_SEQUENCE_KINDS = {
    "item": "item",
    "node": NODE,
    "element": ELEMENT,
    "attribute": ATTRIBUTE,
    "text": TEXT,
    "comment": COMMENT,
    "processing-instruction": PI,
}
_MAX_DIGITS = 28


class Parser(ConstructorParser):
    """Reads expressions; every method returns the compiled ``Expression``."""

    # ------------------------------------------------------------------ prolog
    def prolog(self) -> None:
        """Read ``declare namespace ...;`` and kin into the static context."""
        if self.word("xquery"):
            self._version()
        while self.word("declare") and self.after(self.token).kind == "name":
            self.next()
            if self.accept("namespace"):
                self._namespace()
            elif self.accept("default"):
                self._default()
            elif self.word("function", "variable"):
                raise self.static.error(9335, f"declare {self.token.text}")
            else:
                raise self.static.error(2209, "declare")
            if not self.accept(";"):
                raise self.static.error(9327, self.token.text)

    def _version(self) -> None:
        self.next()
        self.expect("version")
        if self.string() != "1.0":
            raise self.static.error(9304)
        self.expect(";")

    def _namespace(self) -> None:
        prefix = self.next().text
        self.expect("=")
        uri = self.string()
        if prefix in self.static.written and self.static.written[prefix] != uri:
            raise self.static.error(2349, prefix)
        self.static.namespaces[prefix] = self.static.written[prefix] = uri

    def _default(self) -> None:
        if self.accept("function"):
            self.expect("namespace")
            self.string()
            return
        self.expect("element")
        self.expect("namespace")
        self.static.default = self.static.written[""] = self.string()

    # ------------------------------------------------------------------ expressions
    def expression(self) -> Expression:
        """Read ``a, b, ...``."""
        parts = [self.single()]
        while self.accept(","):
            parts.append(self.single())
        return parts[0] if len(parts) == 1 else operators.sequence(self.static, parts)

    def single(self) -> Expression:
        """Read one expression without a comma."""
        token = self.token
        if token.kind == "name":
            follows = self.after(token).text
            if token.text in {"for", "let"} and follows == "$":
                return for_let(self)
            if token.text in {"some", "every"} and follows == "$":
                return quantified(self)
            if token.text == "if" and follows == "(":
                return self._if()
            if token.text in _UNSUPPORTED and follows in {"(", "{"}:
                raise self.static.error(9335, token.text)
        return self._or()

    def _if(self) -> Expression:
        self.next()
        self.expect("(")
        test = self.expression()
        self.expect(")")
        self.expect("then")
        one = self.single()
        self.expect("else")
        return operators.choose(self.static, test, one, self.single())

    def _or(self) -> Expression:
        left = self._and()
        while self.word("or"):
            self.next()
            left = operators.logic(self.static, "or", left, self._and())
        return left

    def _and(self) -> Expression:
        left = self._comparison()
        while self.word("and"):
            self.next()
            left = operators.logic(self.static, "and", left, self._comparison())
        return left

    def _comparison(self) -> Expression:
        left = self._additive()
        op = self.token.text
        if (self.token.kind == "sign" and op in operators.GENERAL) or self.word(*operators.VALUE):
            self.next()
            return operators.compare(self.static, op, left, self._additive())
        if op in {"<<", ">>"} or self.word("is"):
            self.next()
            return operators.compare_nodes(self.static, op, left, self._additive())
        if self.word("to"):
            raise self.static.error(9335, "to")
        return left

    def _additive(self) -> Expression:
        left = self._multiplicative()
        while self.token.kind == "sign" and self.token.text in {"+", "-"}:
            op = self.next().text
            left = operators.arithmetic(self.static, op, left, self._multiplicative())
        return left

    def _multiplicative(self) -> Expression:
        left = self._typed()
        while self.token.text == "*" or self.word("div", "mod", "idiv"):
            op = self.next().text
            if op == "idiv":
                raise self.static.error(9335, "idiv")
            left = operators.arithmetic(self.static, op, left, self._typed())
        return left

    def _typed(self) -> Expression:
        """Read ``instance of`` and ``cast as`` behind a value; set operators are 9335."""
        value = self._unary()
        if self.word("cast") and self.after(self.token).text == "as":
            value = self._cast(value)
        if self.word("union", "intersect", "except") or self.token.text == "|":
            raise self.static.error(9335, self.token.text)
        if self.word("treat", "castable") and self.after(self.token).text == "as":
            raise self.static.error(9335, f"{self.token.text} as")
        if self.word("instance") and self.after(self.token).text == "of":
            value = self._instance(value)
        return value

    def _cast(self, value: Expression) -> Expression:
        self.next()
        self.next()
        name = self._type_name()
        kind = operators.atomic_type(self.static, name)
        if not self._sign_behind("?"):
            raise self.static.error(9301, name)
        return operators.cast_as(self.static, value, kind)

    def _sign_behind(self, sign: str) -> bool:
        """Take an occurrence indicator, which is no token of its own elsewhere."""
        at = self._skip(self.at)
        if self.text.startswith(sign, at):
            self.at = at + len(sign)
            return True
        return False

    def _type_name(self) -> str:
        """Read a type's name, its prefix replaced by the usual one."""
        token = self.next()
        if token.kind != "name":
            raise self.static.error(9328, token.text)
        prefix, _, local = token.text.rpartition(":")
        uri = self.static.uri(prefix) if prefix else ""
        known = {BUILT_IN["xs"]: "xs:", BUILT_IN["xdt"]: "xdt:"}.get(uri)
        return f"{known}{local}" if known else token.text

    def _instance(self, value: Expression) -> Expression:
        self.next()
        self.next()
        follows = self.after(self.token).text
        name, kind = "", self.token.text
        if follows == "(":
            self.next()
            self.next()
            if kind == "document-node":
                raise self.static.error(9335, "document-node()")
            if self.token.kind == "name":
                name = self.next().text
            self.expect(")")
            found = EMPTY if kind == "empty" else _SEQUENCE_KINDS.get(kind)
            if found is None:
                raise self.static.error(2242)
        else:
            found = operators.atomic_type(self.static, self._type_name())
        count = next((sign for sign in "?*+" if self._sign_behind(sign)), "1")
        return operators.instance_of(self.static, value, found, name, count)

    def _unary(self) -> Expression:
        minus = False
        while self.token.kind == "sign" and self.token.text in {"+", "-"}:
            minus = (self.next().text == "-") != minus
        value = self.path()
        return operators.negate(self.static, value) if minus else value

    # ------------------------------------------------------------------ paths
    def path(self) -> Expression:
        """Read a path, or a primary with what follows it."""
        static = self.static
        if self.token.text == "//":
            self.next()
            base = self._any_below(paths.document(static))
            found = self._step(base)
        elif self.token.text == "/":
            self.next()
            base = paths.document(static)
            if not self._at_step():
                return base
            found = self._step(base)
        else:
            found = self._first()
        while self.token.text in {"/", "//"}:
            if self.next().text == "//":
                found = self._any_below(found)
            found = self._step(found)
        return found

    def _any_below(self, base: Expression) -> Expression:
        """The step that ``//`` stands for."""
        test = paths.NodeTest(NODE)
        of = paths.step_type(self.static, base, "descendant-or-self", test)
        return paths.step(base, "descendant-or-self", test, of, [])

    def _at_step(self) -> bool:
        token = self.token
        return token.kind == "name" or token.text in {"@", "*", ".", "..", "("}

    def _first(self) -> Expression:
        """The first step of a relative path: a primary, or an axis step from the context."""
        token = self.token
        follows = self.after(token).text if token.kind == "name" else ""
        is_test = token.text in _KIND_TESTS and follows == "("
        if (
            token.kind == "name"
            and (is_test or follows not in {"(", "{"})
            and not self.at_computed()
        ) or token.text in {"@", "..", "*"}:
            return self._step(paths.context(self.static))
        primary = self._primary()
        if self.token.text != "[":
            return primary
        self.static.opaque(primary, "'[]'")
        return paths.filtered(primary, self._predicates(primary.type))

    def _primary(self) -> Expression:
        token = self.token
        if token.kind == "string":
            self.next()
            return operators.literal(Atomic(STRING, self.literal(token)))
        if token.kind == "number":
            self.next()
            return self._number(token.text)
        if token.text == "$":
            return self._reference()
        if token.text == "(":
            self.next()
            if self.accept(")"):
                return operators.nothing()
            inner = self.expression()
            self.expect(")")
            return inner
        if token.text == ".":
            self.next()
            return paths.context(self.static)
        if token.text == "<":
            return self.direct()
        if token.kind == "name" and self.at_computed():
            return self.computed()
        if token.kind == "name":
            return self._call()
        if token.kind == "end":
            raise self.static.error(2209, "<eof>")
        raise self.syntax()

    def _number(self, text: str) -> Expression:
        if "e" in text.lower():
            return operators.literal(Atomic(DOUBLE, float(text)))
        if "." in text:
            value = Decimal(text)
            if len(text.partition(".")[0].lstrip("0")) > _MAX_DIGITS:
                raise self.static.error(2342)
            return operators.literal(Atomic(DECIMAL, exact(value)))
        if len(text.lstrip("0")) > _MAX_DIGITS:
            raise self.static.error(2342)
        return operators.literal(Atomic(INTEGER, int(text)))

    def _reference(self) -> Expression:
        name = self.variable()
        of = self.static.variables.get(name)
        if of is None:
            raise self.static.error(2227, f"${name}")
        return Expression(of, lambda env: env.variables[name], name in self.static.constructed)

    def _call(self) -> Expression:
        name = self.next().text
        self.expect("(")
        if self.static.namespaces.get(name.rpartition(":")[0]) == BUILT_IN["sql"]:
            return self._outside(name)
        arguments = []
        if not self.accept(")"):
            arguments.append(self.single())
            while self.accept(","):
                arguments.append(self.single())
            self.expect(")")
        return functions.call(self.static, name, arguments)

    def _outside(self, name: str) -> Expression:
        """sql:variable("@x") and sql:column("c")."""
        kind = name.rpartition(":")[2]
        if kind not in {"variable", "column"}:
            raise self.static.error(2395, f"{{{BUILT_IN['sql']}}}", kind)
        wanted = self.string()
        self.expect(")")
        of = self.static.resolve(kind, wanted) if self.static.resolve else Type(STRING, OPTIONAL)
        if of.kind == "xml" and not self.static.xml_allowed:
            raise self.static.error(9342)
        key = f"{kind} {wanted}"
        self.static.outside[key] = (kind, wanted)
        return Expression(of, lambda env: env.outside[key])

    # ------------------------------------------------------------------ steps
    def _step(self, base: Expression) -> Expression:
        token = self.token
        if token.text == "(":
            return self._general_step(base)
        if token.text in {"..", "."}:
            self.next()
            axis = "parent" if token.text == ".." else "self"
            return self._walked(base, axis, paths.NodeTest(NODE))
        axis = "child"
        if token.text == "@":
            self.next()
            axis = "attribute"
        elif token.kind == "name" and self.after(token).text == "::":
            axis = self._axis()
        return self._walked(base, axis, self._test(ATTRIBUTE if axis == "attribute" else ELEMENT))

    def _walked(self, base: Expression, axis: str, test: paths.NodeTest) -> Expression:
        of = paths.step_type(self.static, base, axis, test)
        return paths.step(base, axis, test, of, self._predicates(of))

    def _axis(self) -> str:
        name = self.next().text
        self.next()
        if name in paths.REFUSED_AXES:
            raise self.static.error(9335, name)
        if name not in paths.AXES:
            raise self.static.error(2392, name)
        return name

    def _general_step(self, base: Expression) -> Expression:
        self.next()
        with self.static.focused(base.type, self.static.filtering):
            inner = self.expression()
        self.expect(")")
        if self.token.text == "[":
            inner = paths.filtered(inner, self._predicates(inner.type))
        return paths.mapped(self.static, base, inner)

    def _test(self, principal: str) -> paths.NodeTest:
        token = self.next()
        if token.text == "*":
            return paths.NodeTest(principal)
        if token.kind != "name":
            shown = "<eof>" if token.kind == "end" else token.text
            raise self.static.error(9341, shown)
        name = token.text
        if self.token.text == "(":
            return self._kind_test(name)
        prefix, colon, local = name.rpartition(":")
        if prefix == "*":
            return paths.NodeTest(principal, local, None, name)
        if local == "*" and colon:
            return paths.NodeTest(principal, None, self.static.uri(prefix), name)
        uri = (
            self.static.uri(prefix)
            if colon
            else self.static.default
            if principal == ELEMENT
            else ""
        )
        return paths.NodeTest(principal, local, uri, name)

    def _kind_test(self, name: str) -> paths.NodeTest:
        kind = _KIND_TESTS.get(name)
        if kind is None:
            if name in {"element", "attribute", "document-node"}:
                raise self.static.error(9335, f"{name}()")
            raise self.static.refuse(f"function {name}() as a step of a path")
        self.next()
        target = None
        if kind == PI and self.token.kind in {"string", "name"}:
            token = self.next()
            target = self.literal(token) if token.kind == "string" else token.text
        self.expect(")")
        return paths.NodeTest(kind, target)

    def _predicates(self, focus: Type) -> list[tuple[paths.Filter, bool]]:
        """Read ``[..]`` as often as it stands there; focus: type of the items they filter."""
        found = []
        while self.accept("["):
            with self.static.focused(focus.counted(ONE)):
                expr = self.single()
            self.expect("]")
            found.append(paths.predicate(self.static, expr))
        return found

    def finished(self) -> None:
        """Raise 2209 when anything is left."""
        if self.token.kind != "end":
            raise self.syntax()
