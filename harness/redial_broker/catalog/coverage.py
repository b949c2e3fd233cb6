"""The catalog's part of the coverage page (``invoke coverage``), from the declarations.

Every view with its columns marked computed, constant or refused, every function and procedure, and
what is refused by name.
"""

from __future__ import annotations

from redial_broker.catalog.views import COMPUTED, CONSTANT, DECLARED, REFUSED_COLUMN, DeclaredView
from redial_broker.exec import documented
from redial_broker.exec.execute import DYNAMIC_PROCEDURES
from redial_broker.exec.objects import (
    CATALOG_FUNCTIONS,
    SYSTEM_PROCEDURES,
    SYSTEM_VIEWS,
    TABLE_FUNCTIONS,
)


def view_lines(view: DeclaredView) -> list[str]:
    """One view: a heading and its columns by mark."""
    permission = f" (needs {view.permission})" if view.permission else ""
    lines = [f"### {view.schema}.{view.name}{permission}", ""]
    for mark in (COMPUTED, CONSTANT, REFUSED_COLUMN):
        names = [
            f"{c.name} = {c.value!r}" if mark == CONSTANT else c.name
            for c in view.columns
            if c.mark == mark
        ]
        if names:
            lines.append(f"- {mark}: {', '.join(names)}")
    return [*lines, ""]


def page() -> str:
    """The whole text, Markdown."""
    counts = {
        mark: sum(c.mark == mark for view in DECLARED.values() for c in view.columns)
        for mark in (COMPUTED, CONSTANT, REFUSED_COLUMN)
    }
    lines = [
        "## System catalog of the embedded broker",
        "",
        f"{len(DECLARED)} views; columns: {counts[COMPUTED]} computed from live state, "
        f"{counts[CONSTANT]} constant, {counts[REFUSED_COLUMN]} refused (error 207).",
        "",
    ]
    for name in sorted(DECLARED, key=str.lower):
        lines += view_lines(DECLARED[name])
    for title, names in (
        ("Functions that read the catalog", CATALOG_FUNCTIONS),
        ("Table-valued functions", TABLE_FUNCTIONS),
        ("System procedures", SYSTEM_PROCEDURES),
        (
            "System procedures refused by name",
            documented.names("procedures") - SYSTEM_PROCEDURES.keys() - DYNAMIC_PROCEDURES.keys(),
        ),
        (
            "System views refused by name",
            {
                name
                for name in documented.names("views") - TABLE_FUNCTIONS.keys()
                if ("sys", name) not in SYSTEM_VIEWS
            },
        ),
    ):
        lines += [f"### {title}", "", ", ".join(sorted(names, key=str.lower)), ""]
    return "\n".join(lines)
