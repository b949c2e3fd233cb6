"""Lock modes: compatibility and conversion, as the locking guide's two matrices give them.

Source: "Transaction locking and row versioning guide" (SQL Server documentation).
"""

from __future__ import annotations

_PLAIN = {
    # requested: modes another owner may hold meanwhile
    "IS": "IS S U IX SIX",
    "S": "IS S U",
    "U": "IS S",
    "IX": "IS IX",
    "SIX": "IS",
    "X": "",
    "BU": "BU Sch-S",
    "Sch-S": "IS S U IX SIX X BU Sch-S",
    "Sch-M": "",
}
_RANGE = {
    "S": "S U RangeS-S RangeS-U RangeI-N",
    "U": "S RangeS-S RangeI-N",
    "X": "RangeI-N",
    "RangeS-S": "S U RangeS-S RangeS-U",
    "RangeS-U": "S RangeS-S",
    "RangeI-N": "S U X RangeI-N",
    "RangeX-X": "",
}


def _matrix() -> frozenset[tuple[str, str]]:
    pairs = {(wanted, held) for wanted, row in _PLAIN.items() for held in row.split()}
    pairs |= {(wanted, held) for wanted, row in _RANGE.items() for held in row.split()}
    pairs |= {(held, wanted) for wanted, held in pairs if "Sch-S" in (wanted, held)}
    pairs.discard(("Sch-M", "Sch-S"))
    pairs.discard(("Sch-S", "Sch-M"))
    # A combined range mode is as compatible as its range part and its key part together.
    for combined, key in (("RangeI-S", "S"), ("RangeI-U", "U"), ("RangeI-X", "X")):
        for held in _RANGE:
            if ("RangeI-N", held) in pairs and (key, held) in pairs:
                pairs |= {(combined, held), (held, combined)}
    return frozenset(pairs)


COMPATIBLE = _matrix()
"""(requested, granted) pairs that may stand side by side."""

_ORDER = {"Sch-S": 0, "IS": 1, "S": 2, "U": 3, "IX": 2, "SIX": 4, "X": 5, "Sch-M": 6}
_JOINS = {
    frozenset(("S", "IX")): "SIX",
    frozenset(("U", "IX")): "SIX",
    frozenset(("SIX", "U")): "SIX",
    frozenset(("RangeI-N", "S")): "RangeI-S",
    frozenset(("RangeI-N", "U")): "RangeI-U",
    frozenset(("RangeI-N", "X")): "RangeI-X",
    frozenset(("RangeI-N", "RangeS-S")): "RangeX-S",
    frozenset(("RangeI-N", "RangeS-U")): "RangeX-U",
    frozenset(("RangeS-S", "S")): "RangeS-S",
    frozenset(("RangeS-S", "U")): "RangeS-U",
    frozenset(("RangeS-S", "RangeS-U")): "RangeS-U",
    frozenset(("RangeS-U", "S")): "RangeS-U",
    frozenset(("RangeS-U", "U")): "RangeS-U",
}


def combine(held: str, wanted: str) -> str:
    """The mode that covers both: what a conversion asks for."""
    if held == wanted:
        return held
    joined = _JOINS.get(frozenset((held, wanted)))
    if joined:
        return joined
    if held.startswith("Range") or wanted.startswith("Range"):
        return "RangeX-X"
    return held if _ORDER[held] >= _ORDER[wanted] else wanted
