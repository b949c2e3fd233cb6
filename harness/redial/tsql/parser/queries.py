"""SELECT, set operations, WITH, FOR XML, FOR JSON, OPTION."""

from __future__ import annotations

from typing import cast

from redial.tsql.ast import (
    CommonTable,
    Expression,
    ForBrowse,
    ForJson,
    ForXml,
    GroupBy,
    GroupingSet,
    ObjectName,
    Offset,
    Option,
    OrderItem,
    Query,
    Select,
    SelectItem,
    SelectStatement,
    SetOperation,
    Star,
    Top,
    WindowDefinition,
    With,
    XmlNamespace,
)
from redial.tsql.keywords import QUERY_HINTS
from redial.tsql.lexer import KEYWORD, NUMBER, QUOTED, STRING, VARIABLE, WORD, string_value
from redial.tsql.parser.cursor import MAX_CHAIN, MAX_DEPTH
from redial.tsql.parser.sources import SourceParser

ASSIGNMENTS = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="})
_NOT_AN_ALIAS = frozenset({"OUTPUT"})


class QueryParser(SourceParser):
    """Queries."""

    def select_statement(self, start: int) -> SelectStatement:
        """Read a query as a statement; it may assign variables and use INTO."""
        query = self.statement_query()
        return SelectStatement(start, self.last_end(), query)

    def query(self) -> Query:
        """Read a query inside something else: ORDER BY must mean something there (1033)."""
        query = self.statement_query()
        if query.order_by and not query.offset and not query.for_:
            body = query.body
            if not isinstance(body, Select) or body.top is None:
                self.error(1033)
        return query

    def statement_query(self) -> Query:
        """Read a query with what may follow it; a leading WITH is read by ``with_clause``."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.too_deep()
        start = self.starts[self.i]
        body = self._set_operations(start)
        query = Query(start, self.last_end(), body)
        words = self.words
        if words[self.i] == "ORDER":
            self._order_by(query)
        if words[self.i] == "FOR" and words[self.i + 1] in ("XML", "JSON", "BROWSE"):
            query.for_ = self._for_clause()
        if words[self.i] == "OPTION":
            query.options = self.query_hints()
        query.end = self.last_end()
        self.depth -= 1
        return query

    def query_with_tables(self, may_order: bool = False) -> Query:
        """Read ``[WITH ..] query`` of a view or inline function; of a cursor with may_order."""
        start = self.starts[self.i]
        with_ = self.with_clause() if self.words[self.i] == "WITH" else None
        query = self.statement_query() if may_order else self.query()
        query.with_, query.pos = with_, start
        return query

    # -------------------------------------------------------------------------------------- WITH
    def with_clause(self) -> With:
        """Read ``WITH [XMLNAMESPACES (..)] [, name AS (query), ..]``."""
        start = self.starts[self.i]
        self.expect("WITH")
        namespaces: list[XmlNamespace] = []
        tables: list[CommonTable] = []
        if self.words[self.i] == "XMLNAMESPACES" and self.words[self.i + 1] == "(":
            self.i += 1
            namespaces = self.parenthesised(self._namespace)
            if not self.accept(","):
                return With(start, self.last_end(), namespaces, tables)
        if self.words[self.i] == "CHANGE_TRACKING_CONTEXT":
            self.not_supported("WITH CHANGE_TRACKING_CONTEXT")
        tables = self.list_of(self._common_table)
        return With(start, self.last_end(), namespaces, tables)

    def _namespace(self) -> XmlNamespace:
        start = self.starts[self.i]
        default = self.accept("DEFAULT")
        uri = str(self.string().value)
        prefix = None
        if not default:
            self.expect("AS")
            prefix = self.name()
        return XmlNamespace(start, self.last_end(), uri, prefix)

    def _common_table(self) -> CommonTable:
        start = self.starts[self.i]
        name = self.name()
        columns = self.name_list() if self.words[self.i] == "(" else None
        self.expect("AS", "(")
        query = self.query()
        self.expect(")")
        return CommonTable(start, self.last_end(), name, columns, query)

    # ------------------------------------------------------------------------------ SELECT blocks
    def _set_operations(self, start: int) -> Select | SetOperation | Query:
        """Read operands joined by UNION, EXCEPT, INTERSECT; INTERSECT binds tighter."""
        left = self._intersections(start)
        chain = 0
        while self.words[self.i] in ("UNION", "EXCEPT"):
            chain += 1
            if chain > MAX_CHAIN:
                self.too_deep()
            op = self.word()
            if op == "UNION" and self.accept("ALL"):
                op = "UNION ALL"
            self._refuse_all(op)
            right = self._intersections(self.starts[self.i])
            left = SetOperation(start, self.last_end(), op, left, right)
        return left

    def _intersections(self, start: int) -> Select | SetOperation | Query:
        left = self._query_term()
        chain = 0
        while self.accept("INTERSECT"):
            self._refuse_all("INTERSECT")
            chain += 1
            if chain > MAX_CHAIN:
                self.too_deep()
            right = self._query_term()
            left = SetOperation(start, self.last_end(), "INTERSECT", left, right)
        return left

    def _refuse_all(self, operation: str) -> None:
        """EXCEPT ALL and INTERSECT ALL are grammar without a meaning: error 324."""
        if self.words[self.i] == "ALL":
            self.error(324, operation, at=self.i - 1)

    def _query_term(self) -> Select | SetOperation | Query:
        if self.words[self.i] != "(":
            return self._select()
        start = self.starts[self.i]
        self.i += 1
        query = self.query()
        self.expect(")")
        query.pos, query.end = start, self.last_end()
        return query

    def _select(self) -> Select:
        start = self.starts[self.i]
        self.expect("SELECT")
        distinct = self.accept("DISTINCT")
        if not distinct:
            self.accept("ALL")
        top = self.top(of_select=True) if self.words[self.i] == "TOP" else None
        first_item = self.i
        items = self.list_of(self.select_item)
        self._check_assignments(items, first_item)
        into = self._into() if self.accept("INTO") else None
        sources = self.list_of(self.table_source) if self.accept("FROM") else []
        where = self.condition() if self.accept("WHERE") else None
        group_by = self._group_by() if self.words[self.i] == "GROUP" else None
        having = self.condition() if self.accept("HAVING") else None
        windows = self._windows() if self.at_window_clause() else None
        end = self.last_end()
        return Select(
            start, end, distinct, top, items, into, sources, where, group_by, having, windows
        )

    def _windows(self) -> list[WindowDefinition]:
        """Read ``WINDOW name AS (specification), ..``."""
        self.expect("WINDOW")
        return self.list_of(self._window)

    def _window(self) -> WindowDefinition:
        start = self.starts[self.i]
        name = self.name()
        self.expect("AS")
        over = self.window_specification(self.starts[self.i])
        return WindowDefinition(start, self.last_end(), name, over)

    def _into(self) -> ObjectName:
        name = self.object_name()
        if self.words[self.i] == "ON":
            self.not_supported("SELECT INTO .. ON filegroup")
        return name

    def _check_assignments(self, items: list[SelectItem], first: int) -> None:
        """All items assign, or none does."""
        assigning = sum(item.variable is not None for item in items)
        if assigning and assigning != len(items):
            self.error(141, at=first)

    def top(self, of_select: bool = False) -> Top:
        """Read ``TOP (n) [PERCENT] [WITH TIES]``; only SELECT takes a number without ( )."""
        start = self.starts[self.i]
        self.expect("TOP")
        parenthesised = self.words[self.i] == "("
        if parenthesised:
            count = self.parenthesis()
        elif of_select and self.kinds[self.i] == NUMBER:
            count = self.primary()
        else:
            self.unexpected()
        percent = self.accept("PERCENT")
        ties = of_select and self.accept_all("WITH", "TIES")
        return Top(start, self.last_end(), count, percent, ties, parenthesised)

    def select_item(self) -> SelectItem:
        """Read one item of a select list."""
        i = self.i
        start = self.starts[i]
        kind = self.kinds[i]
        following = self.words[i + 1]
        if self.words[i] == "*":
            self.i = i + 1
            return SelectItem(start, self.ends[i], Star(start, self.ends[i]))
        if kind == VARIABLE and following in ASSIGNMENTS:
            variable = self.variable()
            self.i += 1
            value = self.expression()
            return SelectItem(start, self.last_end(), value, None, variable, following)
        if following == "=" and (kind <= QUOTED or kind == STRING):
            alias = cast("str | None", self.name() if kind <= QUOTED else str(self.string().value))
            self.i += 1
            value = self.expression()
            return SelectItem(start, self.last_end(), value, alias)
        value = self.expression()
        alias = self._item_alias()
        return SelectItem(start, self.ends[self.i - 1], value, alias)

    def _item_alias(self) -> str | None:
        i = self.i
        kind = self.kinds[i]
        given = self.words[i] == "AS"
        if given:
            self.i = i = i + 1
            kind = self.kinds[i]
        if kind == STRING:
            self.i = i + 1
            return string_value(self.raw(i))
        if given or (kind <= QUOTED and self.words[i] not in _NOT_AN_ALIAS and not self.at_label()):
            return self.name()
        return None

    # ------------------------------------------------------------------------ GROUP BY, ORDER BY
    def _group_by(self) -> GroupBy:
        start = self.starts[self.i]
        self.expect("GROUP", "BY")
        if self.words[self.i] == "ALL":
            self.not_supported("GROUP BY ALL")
        items = self.list_of(self._group_item)
        if self.at("WITH", "ROLLUP") or self.at("WITH", "CUBE"):
            self.i += 1
            kind = self.word()
            items = [GroupingSet(start, self.last_end(), kind, items)]
        return GroupBy(start, self.last_end(), items)

    def _group_item(self) -> Expression | GroupingSet:
        start = self.starts[self.i]
        word = self.words[self.i]
        if word in ("ROLLUP", "CUBE") and self.words[self.i + 1] == "(":
            self.i += 1
            items = self.parenthesised(self._group_tuple)
            return GroupingSet(start, self.last_end(), word, items)
        if word == "GROUPING" and self.words[self.i + 1] == "SETS":
            self.i += 2
            items = self.parenthesised(self._group_tuple)
            return GroupingSet(start, self.last_end(), "GROUPING SETS", items)
        if self.accept_all("(", ")"):
            return GroupingSet(start, self.last_end(), "TUPLE", [])
        return self.expression()

    def _group_tuple(self) -> Expression | GroupingSet:
        if self.words[self.i] != "(":
            return self._group_item()
        start = self.starts[self.i]
        self.i += 1
        items = [] if self.words[self.i] == ")" else self.list_of(self.expression)
        self.expect(")")
        return GroupingSet(start, self.last_end(), "TUPLE", list(items))

    def _order_by(self, query: Query) -> None:
        self.expect("ORDER", "BY")
        items: list[OrderItem] = self.list_of(self.order_item)
        query.order_by = items
        start = self.starts[self.i]
        if not self.accept("OFFSET"):
            return
        skip = self.expression()
        self.expect_any("ROW", "ROWS")
        count = None
        if self.at("FETCH", "NEXT") or self.at("FETCH", "FIRST"):
            self.i += 2
            count = self.expression()
            self.expect_any("ROW", "ROWS")
            self.expect("ONLY")
        query.offset = Offset(start, self.last_end(), skip, count)

    # ------------------------------------------------------------------------------- FOR, OPTION
    def _for_clause(self) -> ForXml | ForJson | ForBrowse:
        start = self.starts[self.i]
        self.expect("FOR")
        word = self.word()
        if word == "BROWSE":
            return ForBrowse(start, self.last_end())
        clause = self._for_xml(start) if word == "XML" else self._for_json(start)
        clause.end = self.last_end()
        return clause

    def _for_xml(self, start: int) -> ForXml:
        mode = self.expect_any("RAW", "AUTO", "PATH", "EXPLICIT")
        clause = ForXml(start, start, mode, self._name_in_parentheses(""))
        while self.accept(","):
            word = self.expect_any("TYPE", "ROOT", "ELEMENTS", "BINARY", "XMLSCHEMA", "XMLDATA")
            if word == "TYPE":
                clause.typed = True
            elif word == "ROOT":
                clause.root = self._name_in_parentheses("root")
            elif word == "ELEMENTS":
                clause.elements = self.accept_any("XSINIL", "ABSENT") or "ELEMENTS"
            elif word == "BINARY":
                self.expect("BASE64")
                clause.binary_base64 = True
            else:
                clause.schema = self._name_in_parentheses("") or word
        return clause

    def _for_json(self, start: int) -> ForJson:
        clause = ForJson(start, start, self.expect_any("AUTO", "PATH"))
        while self.accept(","):
            word = self.expect_any("ROOT", "INCLUDE_NULL_VALUES", "WITHOUT_ARRAY_WRAPPER")
            if word == "ROOT":
                clause.root = self._name_in_parentheses("root")
            elif word == "INCLUDE_NULL_VALUES":
                clause.include_null_values = True
            else:
                clause.without_array_wrapper = True
        return clause

    def _name_in_parentheses(self, default: str) -> str | None:
        """Read ``('name')``. Returns None when nothing is there and no default is given."""
        if not self.accept("("):
            return default or None
        name = str(self.string().value)
        self.expect(")")
        return name

    def query_hints(self) -> list[Option]:
        """Read ``OPTION (hint, ..)``."""
        self.expect("OPTION")
        return self.parenthesised(self._query_hint)

    def _query_hint(self) -> Option:
        first = self.i
        words = [self.word()]
        while self.kinds[self.i] in (WORD, KEYWORD):
            words.append(self.word())
        name = " ".join(words)
        if name == "TABLE HINT":
            self.not_supported("OPTION (TABLE HINT)", at=first)
        if name not in QUERY_HINTS:
            self.i = first
            self.unexpected()
        value: object = None
        if self.words[self.i] == "(":
            item = self._optimize_for if name == "OPTIMIZE FOR" else self.expression
            value = self.parenthesised(item)
        elif self.words[self.i] not in (",", ")"):
            self.accept("=")
            value = self.primary()
        return Option(self.starts[first], self.last_end(), name, value)

    def _optimize_for(self) -> Option:
        """Read ``@v = value`` or ``@v UNKNOWN``; the option is named after the variable."""
        i = self.i
        name = self.variable().name
        value = None
        if not self.accept("UNKNOWN"):
            self.expect("=")
            value = self.primary()
        return Option(self.starts[i], self.last_end(), name, value)
