"""Functions of certificates and asymmetric keys; the catalog answers them, as bytes or text.

What is signed or encrypted is the value's bytes as CAST AS varbinary gives them (SIGNBYCERT page).
"""

from __future__ import annotations

from redial_broker.engine.types import (
    INT,
    NVARCHAR_MAX,
    SQL_VARIANT,
    VARBINARY_MAX,
    SqlType,
    varbinary,
)
from redial_broker.exec.conversion import explicit_conversion
from redial_broker.exec.expressions.expr import Expr
from redial_broker.exec.expressions.operands import converted
from redial_broker.exec.functions.registry import Call, function

KEY_FUNCTIONS: dict[str, tuple[int, int, str, SqlType]] = {
    "CERT_ID": (1, 1, "t", INT),
    "ASYMKEY_ID": (1, 1, "t", INT),
    "CERTPROPERTY": (2, 2, "it", SQL_VARIANT),
    "CERTENCODED": (1, 1, "i", VARBINARY_MAX),
    "CERTPRIVATEKEY": (2, 3, "itt", VARBINARY_MAX),
    "SIGNBYCERT": (2, 3, "ibt", varbinary(8000)),
    "VERIFYSIGNEDBYCERT": (3, 3, "ibb", INT),
    "SIGNBYASYMKEY": (2, 3, "ibt", varbinary(8000)),
    "VERIFYSIGNEDBYASYMKEY": (3, 3, "ibb", INT),
    "ENCRYPTBYCERT": (2, 2, "ib", varbinary(8000)),
    "DECRYPTBYCERT": (2, 3, "ibt", varbinary(8000)),
    "ENCRYPTBYASYMKEY": (2, 2, "ib", varbinary(8000)),
    "DECRYPTBYASYMKEY": (2, 3, "ibt", varbinary(8000)),
    "IS_OBJECTSIGNED": (4, 4, "titb", INT),
}
"""Name -> least and most arguments, their kinds (i: int, t: text, b: bytes), result type."""

_TARGETS = {"i": INT, "t": NVARCHAR_MAX}


def _argument(argument: Expr, kind: str) -> Expr:
    if kind != "b":
        return converted(argument, _TARGETS[kind])
    if argument.untyped or argument.type.name == "varbinary":
        return argument
    change = explicit_conversion(argument.type, VARBINARY_MAX)
    fn = argument.fn
    return (
        argument
        if change is None
        else Expr(
            lambda session, variables, row: change(fn(session, variables, row)), VARBINARY_MAX
        )
    )


def _build(call: Call) -> Expr:
    name = call.name
    _, _, kinds, of = KEY_FUNCTIONS[name]
    fns = [_argument(argument, kind).fn for argument, kind in zip(call.args(), kinds)]
    return Expr(
        lambda session, variables, row: session.catalog_function(
            name, tuple([fn(session, variables, row) for fn in fns])
        ),
        of,
    )


for _name, (_least, _most, *_) in KEY_FUNCTIONS.items():
    function(_name, _least, _most)(_build)
