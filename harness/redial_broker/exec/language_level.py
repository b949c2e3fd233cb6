"""T-SQL that a version or a compatibility level does not know yet, refused as a server would.

Sources: the "Applies to" lines and the compatibility level remarks of each page; for OPENJSON,
STRING_SPLIT and GENERATE_SERIES also what people measured at level 100 and 120 (F-480). Built-in
functions and syntax fail when the batch is compiled, so CREATE PROCEDURE fails too; a rowset
function is a name that is not found (208), and only when its statement runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec.product import AZURE_DATABASE, USUAL, Product

if TYPE_CHECKING:
    from collections.abc import Callable

    from redial_broker.exec.database import Database

    _Drop = ast.DropObject | ast.DropIndex | ast.AlterTableDropItem

V2016, V2016_SP1, V2017, V2019, V2022 = (13,), (13, 0, 4001), (14,), (15,), (16,)

FUNCTIONS_SINCE: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(
        (
            "COMPRESS",
            "CURRENT_TRANSACTION_ID",
            "DATEDIFF_BIG",
            "DECOMPRESS",
            "ISJSON",
            "JSON_MODIFY",
            "JSON_QUERY",
            "JSON_VALUE",
            "SESSION_CONTEXT",
            "STRING_ESCAPE",
        ),
        V2016,
    ),
    **dict.fromkeys(("CONCAT_WS", "STRING_AGG", "TRANSLATE", "TRIM"), V2017),
    **dict.fromkeys(("APPROX_COUNT_DISTINCT", "CURRENT_TIMEZONE"), V2019),
    **dict.fromkeys(
        (
            "BIT_COUNT",
            "CURRENT_TIMEZONE_ID",
            "DATETRUNC",
            "DATE_BUCKET",
            "GET_BIT",
            "GREATEST",
            "JSON_ARRAY",
            "JSON_OBJECT",
            "JSON_PATH_EXISTS",
            "LEAST",
            "LEFT_SHIFT",
            "RIGHT_SHIFT",
            "SET_BIT",
        ),
        V2022,
    ),
}
"""Built-in functions by the version they came with; the others are older than any target."""

ROWSET_SINCE: dict[str, tuple[tuple[int, ...], int]] = {
    "openjson": (V2016, 130),
    "string_split": (V2016, 130),
    "generate_series": (V2022, 160),
}
"""Rowset functions: the version they came with, and the compatibility level they need."""

BROKER = (
    ast.AlterQueue,
    ast.AlterRoute,
    ast.AlterService,
    ast.BeginDialog,
    ast.BeginTimer,
    ast.CreateBrokerPriority,
    ast.CreateContract,
    ast.CreateEventNotification,
    ast.CreateMessageType,
    ast.CreateQueue,
    ast.CreateRoute,
    ast.CreateService,
    ast.EndConversation,
    ast.GetConversationGroup,
    ast.MoveConversation,
    ast.Receive,
    ast.Send,
)
"""What Azure SQL Database does not have ("Service Broker" page: Applies to)."""


def check_batch(batch: ast.Batch, database: Database) -> None:
    """Refuse what this product, or the database's level, does not know.

    Raises SqlError 102, 156, 174, 195, 319 and 40510, which end the batch before it runs.
    """
    product = database.server.product
    level: int = database.options["compatibility_level"]
    if product is USUAL and level >= USUAL.newest_level:
        return
    for node in batch.walk():
        look = _LOOKS.get(type(node))
        error = look(node, product, level) if look is not None else None
        if error is None and product.engine_edition == AZURE_DATABASE and isinstance(node, BROKER):
            error = SqlError(40510, _words(node))
        if error is not None:
            error.line = error.line or batch.source.line(node.pos)
            error.aborts = "batch"
            raise error


def check_rowset(name: str, database: Database) -> None:
    """Refuse a rowset function the version or the level does not have: SqlError 208."""
    since, level = ROWSET_SINCE.get(name.lower(), ((0,), 0))
    known = database.server.product.numbers >= since
    if not known or database.options["compatibility_level"] < level:
        raise SqlError(208, name)


def _words(node: ast.Node) -> str:
    """CREATE QUEUE, from CreateQueue."""
    name = type(node).__name__
    return "".join(f" {c}" if c.isupper() else c for c in name).strip().upper()


# ---------------------------------------------------------------------- looks at one node
def _function(node: ast.FunctionCall, product: Product, level: int) -> SqlError | None:
    if len(node.name.parts) > 1:
        return None
    name = node.name.name.upper()
    if product.numbers < FUNCTIONS_SINCE.get(name, (0,)):
        return SqlError(195, node.name.name)
    if name in {"LTRIM", "RTRIM"} and len(node.arguments) == 2 and level < 160:
        return SqlError(174, name.lower(), 1)  # "LTRIM" page: characters need level 160
    if name == "TRIM" and len(node.arguments) == 3 and level < 160:
        return SqlError(102, str(getattr(node.arguments[2], "text", "")))  # "TRIM" page: LEADING ..
    return None


def _json(name: str, product: Product) -> SqlError | None:
    return SqlError(195, name) if product.numbers < FUNCTIONS_SINCE[name] else None


def _rowset(node: ast.FunctionTable, product: Product, level: int) -> SqlError | None:
    """OPENJSON .. WITH: the grammar itself knows it only from level 130 on (measured, F-480)."""
    if node.schema is None or node.call.name.name.upper() != "OPENJSON":
        return None
    return SqlError(319) if level < 130 or product.numbers < V2016 else None


def _module(node: ast.ModuleDefinition, product: Product, level: int) -> SqlError | None:
    """CREATE OR ALTER came with 2016 SP1."""
    early = node.verb == "CREATE OR ALTER" and product.numbers < V2016_SP1
    return SqlError(156, "OR") if early else None


def _drop(node: _Drop, product: Product, level: int) -> SqlError | None:
    early = node.if_exists and product.numbers < V2016
    return SqlError(156, "IF") if early else None


def _time_zone(node: ast.AtTimeZone, product: Product, level: int) -> SqlError | None:
    return SqlError(102, "AT") if product.numbers < V2016 else None


def _distinct(node: ast.IsDistinctFrom, product: Product, level: int) -> SqlError | None:
    return SqlError(156, "DISTINCT") if product.numbers < V2022 else None


def _window(node: ast.WindowDefinition, product: Product, level: int) -> SqlError | None:
    """WINDOW needs level 160 ("WINDOW clause" page)."""
    return SqlError(102, "WINDOW") if product.numbers < V2022 or level < 160 else None


_LOOKS: dict[type, Callable[..., SqlError | None]] = {
    ast.FunctionCall: _function,
    ast.FunctionTable: _rowset,
    ast.JsonObject: lambda node, product, level: _json("JSON_OBJECT", product),
    ast.JsonArray: lambda node, product, level: _json("JSON_ARRAY", product),
    ast.AlterTableDropItem: _drop,
    ast.DropObject: _drop,
    ast.DropIndex: _drop,
    ast.CreateDdlTrigger: _module,
    ast.CreateInlineFunction: _module,
    ast.CreateProcedure: _module,
    ast.CreateScalarFunction: _module,
    ast.CreateTableFunction: _module,
    ast.CreateTrigger: _module,
    ast.CreateView: _module,
    ast.AtTimeZone: _time_zone,
    ast.IsDistinctFrom: _distinct,
    ast.WindowDefinition: _window,
}
