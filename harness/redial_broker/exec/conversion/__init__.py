"""Conversions between types: CAST, CONVERT and what assignments do by themselves.

``explicit_conversion`` and ``compile_assignment_conversion`` settle everything the static types
settle and return a small function for the rest; both let NULL through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.types import (
    MAX,
    UNICODE_TYPES,
    SqlType,
    Variant,
)
from redial_broker.exec.conversion import dates, numbers, text
from redial_broker.exec.conversion.dates import seconds_of_day
from redial_broker.exec.conversion.declared import resolve_type, type_by_name
from redial_broker.exec.conversion.rules import (
    UNTYPED,
    check_explicit,
    check_implicit,
    common_type,
    group,
    shown_name,
)
from redial_broker.exec.xml.document import xml_from_ansi, xml_from_bytes, xml_from_text

if TYPE_CHECKING:
    from redial_broker.exec.closures import Convert
    from redial_broker.exec.xml.schemas import TypedXml

__all__ = [
    "bare",
    "common_type",
    "compile_assignment_conversion",
    "explicit_conversion",
    "implicit_conversion",
    "resolve_type",
    "seconds_of_day",
    "type_by_name",
]

_MOMENTS = frozenset({"datetime", "moment", "date", "time"})


def _raw(source: SqlType, target: SqlType, style: int | None) -> Convert | None:
    """value (not NULL) -> value of the target; None when the value stays as it is."""
    if source is UNTYPED:
        return None
    kind, wanted = group(source), group(target)
    if wanted == "variant":
        return None if kind == "variant" else lambda value: Variant(source, value)
    if kind == "variant":
        return lambda value: _unpacked(value, target, style)
    if wanted == "int":
        return _to_int(source, target)
    if wanted == "char":
        return _to_char(source, target, style)
    if wanted in {"binary", "rowversion"}:
        return None if _binary_fits(source, target) else text.to_binary(source, target, style)
    if wanted == "exact":
        if kind == "exact" and _exact_fits(source, target):
            return None
        return numbers.to_decimal(source, target)
    if wanted == "money":
        return None if source.name == target.name else numbers.to_money(source, target)
    if wanted == "float":
        same = source.name == target.name or (source.name, target.name) == ("real", "float")
        return None if same else numbers.to_float(source, target)
    if wanted == "guid":
        return None if kind == "guid" else text.to_guid(source)
    if wanted == "xml":
        return _to_xml(source, target, style)
    return _to_moment(source, target, style)


def _to_int(source: SqlType, target: SqlType) -> Convert | None:
    if target.name == "bit":
        return None if source.name == "bit" else numbers.to_bit(source)
    widths = {"bit": 0, "tinyint": 1, "smallint": 2, "int": 3, "bigint": 4}
    if source.name in widths and widths[source.name] <= widths[target.name]:
        return None
    return numbers.to_integer(source, target)


def _to_char(source: SqlType, target: SqlType, style: int | None) -> Convert | None:
    if source.is_string and _text_fits(source, target):
        return None
    return text.to_text(source, target, style)


def _text_fits(source: SqlType, target: SqlType) -> bool:
    """True when every value of the source already is a value of the target."""
    if not source.is_string:
        return False
    if source.name in UNICODE_TYPES and target.name not in UNICODE_TYPES:
        return False
    if target.name in {"char", "nchar"}:
        return source is target
    return target.length == MAX or 0 < source.length <= target.length


def _binary_fits(source: SqlType, target: SqlType) -> bool:
    if not source.is_binary:
        return False
    if target.name in {"binary", "rowversion"}:
        return source.name in {"binary", "rowversion"} and source.length == target.length
    return target.length == MAX or 0 < source.length <= target.length


def _exact_fits(source: SqlType, target: SqlType) -> bool:
    whole = source.precision - source.scale <= target.precision - target.scale
    return whole and source.scale == target.scale


def _to_xml(source: SqlType, target: SqlType, style: int | None) -> Convert | None:
    """Parsing, and the check against the schema collection of a typed target."""
    parsed = _parsed(source, style)
    collection = getattr(target, "collection", None)
    if collection is None or source is target:
        return parsed
    check, document = collection.validate, cast("TypedXml", target).document
    if parsed is None:
        return lambda value: check(value, document)
    return lambda value: check(parsed(value), document)


def _no_style(style: int) -> None:
    raise SqlError(6358, style)


def _parsed(source: SqlType, style: int | None) -> Convert | None:
    if source.name == "xml":
        return None
    if style in {2, 3}:
        raise NotSupported(f"style {style} when converting to xml (internal DTD subsets)")
    if style not in {None, 0, 1}:
        return lambda value: _no_style(style)
    keep = style == 1
    if source.is_binary:
        return lambda value: xml_from_bytes(value, keep_blanks=keep)
    if source.name in UNICODE_TYPES:
        return lambda value: xml_from_text(value, keep_blanks=keep)
    return lambda value: xml_from_ansi(value, keep_blanks=keep)


def _to_moment(source: SqlType, target: SqlType, style: int | None) -> Convert | None:
    kind = group(source)
    if kind == "char":
        return dates.from_text(source, target, style)
    if kind in _MOMENTS:
        if source is target or (source.name == target.name and source.scale <= target.scale):
            return None
        return dates.between(source, target)
    if target.name not in {"datetime", "smalldatetime"}:
        raise NotSupported(f"conversion of {shown_name(source)} to {target.name}")
    if kind in {"binary", "rowversion"}:
        fit = dates.rescale(target)
        return lambda value: fit(dates.from_bytes(value))
    return dates.from_days(target)


def _unpacked(value: Variant, target: SqlType, style: int | None) -> Any:
    check_explicit(value.type, target)
    convert = _raw(value.type, target, style)
    return value.value if convert is None else convert(value.value)


def _null_safe(convert: Convert) -> Convert:
    def run(value: Any) -> Any:
        return None if value is None else convert(value)

    run.__wrapped__ = convert  # type: ignore[attr-defined]
    return run


def bare(convert: Convert) -> Convert:
    """The same conversion for who has made sure that the value is not NULL."""
    return getattr(convert, "__wrapped__", convert)


def explicit_conversion(
    source: SqlType, target: SqlType, style: int | None = None, try_: bool = False
) -> Convert:
    """The function behind CAST and CONVERT, NULL in, NULL out.

    style: the third argument of CONVERT. try_: TRY_CAST and TRY_CONVERT, where a failed conversion
    yields NULL; a forbidden pair of types (529) is an error all the same.
    """
    check_explicit(source, target)
    convert = _raw(source, target, style)
    if convert is None:
        return lambda value: value
    if not try_:
        return _null_safe(convert)

    def attempt(value: Any) -> Any:
        if value is None:
            return None
        try:
            return convert(value)
        except NotSupported:
            raise
        except SqlError:
            return None

    return attempt


def implicit_conversion(source: SqlType, target: SqlType) -> Convert | None:
    """The function an operator applies to bring an operand to a common type; None if none.

    Raises 257 or 206 when the server wants a CONVERT here or forbids the pair.
    """
    check_implicit(source, target)
    convert = _raw(source, target, None)
    return None if convert is None else _null_safe(convert)


def compile_assignment_conversion(
    source: SqlType, target: SqlType, *, table: str | None = None, column: str | None = None
) -> Convert | None:
    """What an assignment does to a value; None when nothing.

    Without ``column`` the target is a variable or parameter: strings are cut silently. With it the
    target is a stored column: a string that does not fit raises 2628 naming ``table`` and
    ``column`` (trailing blanks do not count).
    """
    check_implicit(source, target)
    strict = column is not None and (target.is_string or target.is_binary)
    if not strict or target.length in {0, MAX}:
        return implicit_conversion(source, target)
    if not (source.is_string or source.is_binary):
        return implicit_conversion(source, target)
    if (_text_fits if target.is_string else _binary_fits)(source, target):
        return None
    return _strict_assignment(source, target, table or "", column or "")


def _strict_assignment(source: SqlType, target: SqlType, table: str, column: str) -> Convert:
    widest = type_by_name(target.name, MAX)
    whole = None if _text_fits(source, widest) else _raw(source, widest, None)
    fit: Convert | None = text.fit_text(target) if target.is_string else text.fit_bytes(target)
    assert fit is not None  # a target without a limit does not come here
    length = target.length

    def run(value: Any) -> Any:
        if value is None:
            return None
        full = value if whole is None else whole(value)
        kept = fit(full)
        if len(full) > len(kept) or (len(full) == len(kept) and full != kept):
            rest = full[len(kept) :]
            if rest.strip(" " if isinstance(full, str) else b"\x00") or len(kept) < length:
                shown = kept if isinstance(kept, str) else ""
                raise SqlError(2628, table, column, shown)
        return kept

    return run
