"""OPTION (...): which query hints there are, and what each may change.

Source: "Query hints" page. A hint that only says how the plan is made, how much memory or how many
processors it may take, or how long it is kept, cannot change which rows come out or which locks
are taken: there are no plans, no memory grants and no parallel work here, so it is accepted. A hint
about the joins or their order is honoured, since it decides what is read by a seek.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from redial.tsql import ast
from redial_broker.engine.differences import differs
from redial_broker.engine.errors import SqlError

if TYPE_CHECKING:
    from redial_broker.exec.context import Context

differs(
    "query hints about plans",
    "Accepted without effect where the page says that they change neither results nor "
    "locks: there is no cost-based optimizer, the path follows the indexes and table "
    "hints.",
)

WITHOUT_EFFECT = frozenset(
    {
        # How long the plan is kept, and for which values it is made.
        "RECOMPILE",
        "KEEP PLAN",
        "KEEPFIXED PLAN",
        "OPTIMIZE FOR",
        "OPTIMIZE FOR UNKNOWN",
        "DISABLE_OPTIMIZED_PLAN_FORCING",
        # What the plan may use: processors, memory, row size, columnstores, spools, indexed views.
        "MAXDOP",
        "MAX_GRANT_PERCENT",
        "MIN_GRANT_PERCENT",
        "ROBUST PLAN",
        "IGNORE_NONCLUSTERED_COLUMNSTORE_INDEX",
        "NO_PERFORMANCE_SPOOL",
        "EXPAND VIEWS",
        # Which rows come first, where no ORDER BY says so: FAST n, and the ways to group and to unite.
        "FAST",
        "HASH GROUP",
        "ORDER GROUP",
        "CONCAT UNION",
        "HASH UNION",
        "MERGE UNION",
    }
)

USE_HINTS = frozenset(
    {
        "ASSUME_JOIN_PREDICATE_DEPENDS_ON_FILTERS",
        "ASSUME_MIN_SELECTIVITY_FOR_FILTER_ESTIMATES",
        "ASSUME_FULL_INDEPENDENCE_FOR_FILTER_ESTIMATES",
        "ASSUME_PARTIAL_CORRELATION_FOR_FILTER_ESTIMATES",
        "DISABLE_BATCH_MODE_ADAPTIVE_JOINS",
        "DISABLE_BATCH_MODE_MEMORY_GRANT_FEEDBACK",
        "DISABLE_DEFERRED_COMPILATION_TV",
        "DISABLE_INTERLEAVED_EXECUTION_TVF",
        "DISABLE_OPTIMIZED_NESTED_LOOP",
        "DISABLE_OPTIMIZER_ROWGOAL",
        "DISABLE_PARAMETER_SNIFFING",
        "DISABLE_ROW_MODE_MEMORY_GRANT_FEEDBACK",
        "DISABLE_TSQL_SCALAR_UDF_INLINING",
        "DISALLOW_BATCH_MODE",
        "ENABLE_HIST_AMENDMENT_FOR_ASC_KEYS",
        "ENABLE_QUERY_OPTIMIZER_HOTFIXES",
        "FORCE_DEFAULT_CARDINALITY_ESTIMATION",
        "FORCE_LEGACY_CARDINALITY_ESTIMATION",
        "QUERY_PLAN_PROFILE",
        "DISABLE_CE_FEEDBACK",
        "DISABLE_MEMORY_GRANT_FEEDBACK_PERSISTENCE",
        "DISABLE_DOP_FEEDBACK",
        "DISABLE_OPTIMIZED_PLAN_FORCING",
        "DISABLE_PARAMETER_SENSITIVE_PLAN_OPTIMIZATION",
        *(f"QUERY_OPTIMIZER_COMPATIBILITY_LEVEL_{level}" for level in range(100, 170, 10)),
    }
)
"""Names USE HINT knows; all are about estimates and plans (sys.dm_exec_valid_use_hints)."""

TRACE_FLAGS = frozenset(
    {
        2312,
        2335,
        2340,
        2371,
        4136,
        4137,
        4138,
        4139,
        4199,
        8690,
        8744,
        9347,
        9349,
        9389,
        9398,
        9453,
        9471,
        9472,
        9476,
        9481,
        9488,
        9495,
        11064,
    }
)
"""Flags documented for QUERYTRACEON, all about estimates and plans ("Trace flags" page)."""

_JOINS = {"LOOP JOIN": "LOOP", "HASH JOIN": "HASH", "MERGE JOIN": "MERGE"}


@dataclass(frozen=True, slots=True)
class QueryHints:
    """What OPTION decides here."""

    forced: bool = False
    """Joins in the order written."""
    whole: bool = False
    """Every join reads its second side as a whole (HASH JOIN, MERGE JOIN), never by a key of the
    first."""


NO_QUERY_HINTS = QueryHints()


def query_hints(options: list[ast.Option] | None, context: Context) -> QueryHints:
    """The hints of a statement. Raises 10715 for an unknown USE HINT name, NotSupported by name."""
    joins: set[str] = set()
    forced = False
    for option in options or []:
        name = option.name.upper()
        if name in _JOINS:
            joins.add(_JOINS[name])
        elif name == "FORCE ORDER":
            forced = True
        elif name == "USE HINT":
            _check_use_hints(option, context)
        elif name == "QUERYTRACEON":
            flag = getattr(option.value, "value", option.value)
            if flag not in TRACE_FLAGS:
                raise context.not_supported(option, f"OPTION (QUERYTRACEON {flag})")
        elif name != "MAXRECURSION" and name not in WITHOUT_EFFECT:
            raise context.not_supported(option, f"OPTION ({name})")
    # LOOP among several leaves the choice, and then a join is what it always is here.
    return QueryHints(forced, bool(joins) and "LOOP" not in joins)


def _check_use_hints(option: ast.Option, context: Context) -> None:
    values = option.value if isinstance(option.value, list) else [option.value]
    for value in values:
        text = str(getattr(value, "value", value))
        if text.upper() not in USE_HINTS:
            raise context.fail(option, SqlError(10715, text, aborts="scope"))
