"""What a session may ask about settings and collations (the functions' pages)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial_broker.engine.collation import find_collation
from redial_broker.engine.types import INT, SMALLINT, SQL_VARIANT, Variant
from redial_broker.exec.expressions.expr import Expr, constant
from redial_broker.exec.functions.registry import Call, function

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

_SESSION = {
    "ANSI_NULLS": "ansi_nulls",
    "ANSI_PADDING": "ansi_padding",
    "ANSI_WARNINGS": "ansi_warnings",
    "ARITHABORT": "arithabort",
    "CONCAT_NULL_YIELDS_NULL": "concat_null_yields_null",
    "NUMERIC_ROUNDABORT": "numeric_roundabort",
    "QUOTED_IDENTIFIER": "quoted_identifier",
}


@function("SESSIONPROPERTY", 1)
def _sessionproperty(call: Call) -> Expr:
    """SESSIONPROPERTY(option): 1 or 0, NULL for what is no such option."""
    name = call.text(0).fn

    def run(session: SessionState, variables: Values, row: RowValues) -> Variant | None:
        attribute = _SESSION.get((name(session, variables, row) or "").strip().upper())
        return None if attribute is None else Variant(INT, int(getattr(session.options, attribute)))

    return Expr(run, SQL_VARIANT)


@function("GETANSINULL", 0, 1)
def _getansinull(call: Call) -> Expr:
    """1: a column without NULL or NOT NULL allows NULL."""
    return constant(1, INT)


@function("CURRENT_REQUEST_ID", 0)
def _current_request_id(call: Call) -> Expr:
    return constant(0, SMALLINT)


_CASE, _ACCENT, _KANA, _WIDTH = 1, 2, 65536, 131072


def collation_style(name: str) -> int:
    """ComparisonStyle: what the collation ignores; 0 for binary ones."""
    lowered = name.lower()
    if lowered.endswith(("_bin", "_bin2")):
        return 0
    style = 0 if "_ks" in lowered else _KANA
    style += 0 if "_ws" in lowered else _WIDTH
    style += _CASE if "_ci" in lowered else 0
    return style + (_ACCENT if "_ai" in lowered else 0)


@function("COLLATIONPROPERTY", 2)
def _collationproperty(call: Call) -> Expr:
    """CodePage, LCID, ComparisonStyle and Version of a collation the broker has; else NULL."""
    name, wanted = call.text(0).fn, call.text(1).fn

    def run(session: SessionState, variables: Values, row: RowValues) -> Variant | None:
        collation, word = (
            name(session, variables, row),
            (wanted(session, variables, row) or "").lower(),
        )
        if collation is None or find_collation(collation) is None:
            return None
        values = {
            "codepage": 1252,
            "lcid": 1033,
            "comparisonstyle": collation_style(collation),
            "version": 2 if "_100_" in collation.lower() else 0,
        }
        return Variant(INT, values[word]) if word in values else None

    return Expr(run, SQL_VARIANT)
