"""Who refers to a cursor: its name and variables. It lives until the last of them is gone.

Source: "DEALLOCATE" page. ``session.cursors`` maps (depth, name), ("", name) for a global name or
("#", number) for a cursor without a name to the cursor; a variable holds such a key.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from redial_broker.exec.program import Frame
    from redial_broker.exec.session import SessionState

LAST_OPENED = "@@"
"""Key in ``session.cursors`` of the key of the cursor opened last (@@CURSOR_ROWS)."""


def new_key(session: SessionState) -> tuple[str, int]:
    """A key no name has."""
    numbers = [key[1] for key in session.cursors if isinstance(key, tuple) and key[0] == "#"]
    return "#", max(numbers, default=0) + 1


def references(session: SessionState, key: Any) -> int:
    """How many variables refer to a cursor."""
    return sum(
        1
        for frame in session.frames
        for value in frame.variables
        if isinstance(value, tuple) and value == key
    )


def release(session: SessionState, key: Any) -> None:
    """Forget a cursor that neither its name nor a variable refers to."""
    cursor = session.cursors.get(key)
    if cursor is not None and not cursor.named and not references(session, key):
        del session.cursors[key]


def nameless(session: SessionState, key: Any, frame: Frame | None) -> Any:
    """Move a cursor to a key no name has, so that its name is free; variables follow."""
    fresh = new_key(session)
    session.cursors[fresh] = replace(session.cursors.pop(key), named=False, frame=frame)
    for one in session.frames:
        for slot, value in enumerate(one.variables):
            if isinstance(value, tuple) and value == key:
                one.variables[slot] = fresh
    if session.cursors.get(LAST_OPENED) == key:
        session.cursors[LAST_OPENED] = fresh
    return fresh


def hand_over(session: SessionState, frame: Frame) -> None:
    """Give the open cursors of OUTPUT parameters to the caller of a module that ends.

    One that is closed goes with the module ("CURSOR_STATUS" page).
    """
    for slot, _ in frame.outputs:
        key = frame.variables[slot]
        cursor = session.cursors.get(key) if isinstance(key, tuple) else None
        if cursor is None or cursor.frame is not frame:
            continue
        if cursor.rows is None or not session.frames:
            frame.variables[slot] = None
        else:
            frame.variables[slot] = nameless(session, key, session.frames[-1])


def drop_references(session: SessionState, values: list[Any]) -> None:
    """The variables of a frame are gone: cursors only they referred to go too."""
    for value in values:
        if isinstance(value, tuple) and value in session.cursors:
            release(session, value)
