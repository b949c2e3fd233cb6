"""Sort and equality keys: what the server's comparisons look at, as plain Python values.

Indexes and expressions must agree on what "equal" means, so both take their keys from here. The
default collation is approximated: upper and lower case are the same, accents differ but order next
to their base letter, blanks at the end do not count, punctuation stands before digits, digits
before letters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

DEFAULT_COLLATION = "SQL_Latin1_General_CP1_CI_AS"
"""Collation of every database of the embedded broker."""

_CACHED_LENGTH = 256
_SEPARATOR = "\x00"
_FIRST_NON_ASCII = 128


def _primary_weights() -> dict[int, int]:
    """ASCII in the order of the default collation: controls, punctuation, digits, letters."""

    def rank(code: int) -> tuple[int, int]:
        char = chr(code)
        return (2 if char.isalpha() else 1 if char.isdigit() else 0, code)

    ordered = sorted(range(_FIRST_NON_ASCII), key=rank)
    # Zero is left free: it separates the weights of letters from the weights of accents.
    return {code: weight + 1 for weight, code in enumerate(ordered)}


_WEIGHTS = _primary_weights()


def _compute_key(text: str) -> str:
    folded = text.rstrip(" ").casefold()
    if folded.isascii():
        return folded.translate(_WEIGHTS)
    letters: list[str] = []
    accents: list[str] = []
    for char in unicodedata.normalize("NFD", folded):
        if unicodedata.combining(char):
            accents.append(f"{len(letters):04x}{char}")
        else:
            letters.append(char)
    primary = "".join(letters).translate(_WEIGHTS)
    return primary + _SEPARATOR + "".join(accents) if accents else primary


_cached_key = lru_cache(maxsize=32768)(_compute_key)


def collation_key(text: str) -> str:
    """The key under which the default collation compares and orders a string.

    Short strings (names, handles, states) are remembered; long ones are not, so that message
    bodies do not stay in memory.
    """
    return _cached_key(text) if len(text) <= _CACHED_LENGTH else _compute_key(text)


def case_sensitive_key(text: str) -> str:
    """The key of a case-sensitive, accent-sensitive collation; lower case orders first."""
    return collation_key(text) + _SEPARATOR + text.rstrip(" ").swapcase()


def _without_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


def accent_insensitive_key(text: str) -> str:
    """The key of a case-insensitive, accent-insensitive collation."""
    return collation_key(text if text.isascii() else _without_accents(text))


def case_only_key(text: str) -> str:
    """The key of a case-sensitive, accent-insensitive collation; lower case orders first."""
    return case_sensitive_key(text if text.isascii() else _without_accents(text))


def binary_collation_key(text: str) -> str:
    """The key of a BIN or BIN2 collation: code points; blanks at the end still do not count."""
    return text.rstrip(" ")


def guid_key(text: str) -> str:
    """The key by which uniqueidentifier values are ordered.

    The last six bytes weigh most, then the groups from right to left, each byte-wise in its stored
    (little-endian) order: the published order of the comparison, which is not that of the text.
    """
    return (
        text[24:]
        + text[19:23]
        + text[16:18]
        + text[14:16]
        + text[11:13]
        + text[9:11]
        + text[6:8]
        + text[4:6]
        + text[2:4]
        + text[0:2]
    )


def guid_of(key: str) -> str:
    """The uniqueidentifier that ``guid_key`` orders by this key."""
    last, rest = key[:12], key[12:]
    pairs = [rest[4 + at : 6 + at] for at in range(0, 16, 2)]
    first = "".join(reversed(pairs[4:]))
    return f"{first}-{pairs[3]}{pairs[2]}-{pairs[1]}{pairs[0]}-{rest[:4]}-{last}"


def binary_key(value: bytes) -> bytes:
    """The key of a binary value: the shorter one is compared as if padded with zero bytes."""
    return value.rstrip(b"\x00")


@dataclass(frozen=True, slots=True)
class Collation:
    """One collation: its name and the key function that decides equality and order."""

    name: str
    key: Callable[[str], str]
    case_sensitive: bool = False
    binary: bool = False


DEFAULT = Collation(DEFAULT_COLLATION, collation_key)
_DEFAULT_NAMES = frozenset({"database_default", "catalog_default"})


_NAME = re.compile(r"[a-z0-9_]+_(bin2?|c[is]_a[is](_\w+)*)", re.IGNORECASE)


def may_be_collation(name: str) -> bool:
    """Whether a name is built like that of a collation: a server may know it."""
    return _NAME.fullmatch(name) is not None or name.lower() in _DEFAULT_NAMES


@lru_cache(maxsize=256)
def find_collation(name: str) -> Collation | None:
    """The collation of that name, or None when the embedded broker cannot imitate it.

    Supported: Latin1 families, *_CI_AS, *_CS_AS, *_CI_AI, *_CS_AI, *_BIN and *_BIN2. Sensitivity to
    kana and width (_KS, _WS) is how the keys are anyway: they fold neither.
    """
    lowered = name.lower()
    if lowered in _DEFAULT_NAMES:
        return DEFAULT
    if not lowered.startswith(("sql_latin1_general", "latin1_general")):
        return None
    if lowered.endswith(("_bin", "_bin2")):
        return Collation(name, binary_collation_key, case_sensitive=True, binary=True)
    lowered = lowered.removesuffix("_ws").removesuffix("_ks")
    if lowered.endswith("_cs_as"):
        return Collation(name, case_sensitive_key, case_sensitive=True)
    if lowered.endswith("_ci_ai"):
        return Collation(name, accent_insensitive_key)
    if lowered.endswith("_cs_ai"):
        return Collation(name, case_only_key, case_sensitive=True)
    if lowered.endswith("_ci_as"):
        return DEFAULT if lowered == DEFAULT_COLLATION.lower() else Collation(name, collation_key)
    return None
