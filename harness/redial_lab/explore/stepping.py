"""One step of a session, statement by statement, for whoever wants to look at each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from redial_broker.engine.inside import ATOMIC
from redial_broker.exec.machine import READY, others_matter

if TYPE_CHECKING:
    from redial_broker.exec.program import Frame
    from redial_broker.exec.session import SessionState


def _nothing() -> None:
    """Nothing is to be done behind a statement."""


def by_statements(
    run: Callable[..., str],
    session: SessionState,
    budget: int,
    before: Callable[[Frame, bool], Callable[[], None] | None],
    *,
    single: bool = False,
    acted: int = ATOMIC,
) -> str:
    """Run what ``Machine.run`` would run, one statement after the other.

    run: a machine's ``run``. before: called with the frame whose statement comes next, and whether
    others matter to it; what it returns is called when that has run. The rest as of ``Machine.run``.
    """
    done_shared, status = False, READY
    while session.frames and budget > 0 and status == READY:
        if session.pending is not None:  # an error comes first
            status, done_shared = run(session, 0), True
            continue
        if session.options.noexec:
            run(session, 0)  # past what is not executed
        frame = session.frames[-1]
        shared = others_matter(session, frame.program.infos[frame.pc])
        if single and done_shared and shared:
            return READY
        done_shared = done_shared or shared
        after = before(frame, shared) or _nothing
        status = run(session, 1, acted=acted)
        budget -= 1
        after()
    return status
