"""SET options of a session. Changing one inside a module is undone when the module returns.

Source: SET statements page; defaults are those of ODBC and JDBC connections.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, cast

ON_OFF = {
    "NOCOUNT": "nocount",
    "XACT_ABORT": "xact_abort",
    "QUOTED_IDENTIFIER": "quoted_identifier",
    "ANSI_NULLS": "ansi_nulls",
    "ANSI_PADDING": "ansi_padding",
    "ANSI_WARNINGS": "ansi_warnings",
    "ANSI_NULL_DFLT_ON": "ansi_null_dflt_on",
    "ANSI_NULL_DFLT_OFF": "ansi_null_dflt_off",
    "ARITHABORT": "arithabort",
    "CONCAT_NULL_YIELDS_NULL": "concat_null_yields_null",
    "NUMERIC_ROUNDABORT": "numeric_roundabort",
    "IMPLICIT_TRANSACTIONS": "implicit_transactions",
    "CURSOR_CLOSE_ON_COMMIT": "cursor_close_on_commit",
    "FMTONLY": "fmtonly",
    "NOEXEC": "noexec",
    "PARSEONLY": "parseonly",
}
"""Option word -> attribute of ``Options``."""

ONLY_ON = frozenset({"ANSI_NULLS", "ANSI_PADDING", "ANSI_WARNINGS", "CONCAT_NULL_YIELDS_NULL"})
"""Turning these OFF would change results in ways the executor does not follow: refused by name,
but ANSI_NULLS is frozen at creation time, so inside a module setting it does nothing anyway."""

ANSI_DEFAULTS = dict.fromkeys(
    (
        "ansi_nulls",
        "cursor_close_on_commit",
        "ansi_null_dflt_on",
        "implicit_transactions",
        "ansi_padding",
        "quoted_identifier",
        "ansi_warnings",
    ),
    True,
)
"""What SET ANSI_DEFAULTS ON turns on (its page)."""

OPPOSITES = {"ANSI_NULL_DFLT_ON": "ANSI_NULL_DFLT_OFF", "ANSI_NULL_DFLT_OFF": "ANSI_NULL_DFLT_ON"}
"""Turning one of them on turns the other one off."""

OFF_ALREADY = frozenset(
    {
        "ARITHIGNORE",
        "FORCEPLAN",
        "NOBROWSETABLE",
        "NO_BROWSETABLE",
        "REMOTE_PROC_TRANSACTIONS",
        "SHOWPLAN_ALL",
        "SHOWPLAN_TEXT",
        "SHOWPLAN_XML",
        "STATISTICS IO",
        "STATISTICS TIME",
        "STATISTICS PROFILE",
        "STATISTICS XML",
    }
)
"""Options that are refused when turned on; they are off from the beginning, so OFF changes nothing.
"""

DEADLOCK_PRIORITIES = {"LOW": -5, "NORMAL": 0, "HIGH": 5}


@dataclass(frozen=True, slots=True)
class Options:
    """One set of SET options; immutable, so that a module's caller keeps its own by reference."""

    nocount: bool = False
    xact_abort: bool = False
    quoted_identifier: bool = True
    ansi_nulls: bool = True
    ansi_padding: bool = True
    ansi_warnings: bool = True
    ansi_null_dflt_on: bool = True
    ansi_null_dflt_off: bool = False
    arithabort: bool = True
    concat_null_yields_null: bool = True
    numeric_roundabort: bool = False
    implicit_transactions: bool = False
    cursor_close_on_commit: bool = False
    fmtonly: bool = False
    noexec: bool = False
    parseonly: bool = False
    isolation: str = "read committed"
    lock_timeout: int = -1
    deadlock_priority: int = 0
    textsize: int = -1
    rowcount: int = 0
    datefirst: int = 7
    dateformat: str = "mdy"
    language: str = "us_english"
    _changes: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def get(self, name: str, default: Any = None) -> Any:
        """Value of an option by its T-SQL word or attribute name."""
        return getattr(self, ON_OFF.get(name.upper(), name.lower()), default)

    def __getitem__(self, name: str) -> Any:
        """Like ``get``; KeyError for an unknown word."""
        try:
            return getattr(self, ON_OFF.get(name.upper(), name.lower()))
        except AttributeError:
            raise KeyError(name) from None

    def changed(self, **values: Any) -> Options:
        """The options with some changed; the same change of the same options is made once."""
        return self.changed_by(tuple(values.items()))

    def changed_by(self, changes: tuple[tuple[str, Any], ...]) -> Options:
        """``changed`` by pairs of attribute and value, put together once by who changes often."""
        changed = self._changes.get(changes)
        if changed is None:
            made = replace(self, **dict(changes), _changes={})
            changed = self._changes[changes] = _KNOWN.setdefault(made, made)
        return changed

    @property
    def word(self) -> bytes:
        """All values in one word, worked out once: the state hash asks for it at every step."""
        found = self._changes.get(None)
        if found is None:
            found = self._changes[None] = blake2b(repr(self).encode(), digest_size=16).digest()
        return cast("bytes", found)

    @property
    def wrong_settings(self) -> str:
        """The options that keep methods of XML and filtered indexes from use, worked out once."""
        found = self._changes.get("wrong")
        if found is None:
            found = self._changes["wrong"] = self._wrong()
        return found

    @property
    def mask(self) -> int:
        """@@OPTIONS (configuration page "user options"), worked out once."""
        found = self._changes.get("mask")
        if found is None:
            found = self._changes["mask"] = self._mask()
        return found

    def _wrong(self) -> str:
        """As message 1934 lists them. ANSI_WARNINGS ON means ARITHABORT ON too since compatibility
        level 90 (SET ARITHABORT page)."""
        wrong = (
            ("ANSI_NULLS", not self.ansi_nulls),
            ("QUOTED_IDENTIFIER", not self.quoted_identifier),
            ("CONCAT_NULL_YIELDS_NULL", not self.concat_null_yields_null),
            ("ANSI_WARNINGS", not self.ansi_warnings),
            ("ANSI_PADDING", not self.ansi_padding),
            ("ARITHABORT", not (self.arithabort or self.ansi_warnings)),
            ("NUMERIC_ROUNDABORT", self.numeric_roundabort),
        )
        return ", ".join(name for name, is_wrong in wrong if is_wrong)

    def _mask(self) -> int:
        bits = (
            (2, self.implicit_transactions),
            (4, self.cursor_close_on_commit),
            (8, self.ansi_warnings),
            (16, self.ansi_padding),
            (32, self.ansi_nulls),
            (64, self.arithabort),
            (256, self.quoted_identifier),
            (512, self.nocount),
            (1024, self.ansi_null_dflt_on),
            (2048, self.ansi_null_dflt_off),
            (4096, self.concat_null_yields_null),
            (8192, self.numeric_roundabort),
            (16384, self.xact_abort),
        )
        return sum(bit for bit, on in bits if on)


_KNOWN: dict[Options, Options] = {}
"""One object per set of values, so that toggling an option back and forth makes two objects."""
