"""One step of a session, statement by statement, for whoever wants to look at each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from redial_broker.engine.inside import ATOMIC
from redial_broker.exec.machine import BEHIND, READY, WHOLE, others_matter

if TYPE_CHECKING:
    from redial_broker.exec.program import Frame
    from redial_broker.exec.session import SessionState


def by_statements(
    run: Callable[..., str],
    session: SessionState,
    budget: int,
    look: Callable[[Frame, bool], None],
    *,
    single: int = WHOLE,
    acted: int = ATOMIC,
) -> str:
    """Run what ``Machine.run`` would run, one statement after the other.

    run: a machine's ``run``. look: called with the frame whose statement comes next, and whether
    others matter to it. The rest as of ``Machine.run``.
    """
    status = READY
    if single and session.pending is not None:
        single = BEHIND
    while budget > 0 and status == READY:
        status = run(session, 0)  # comes to the next statement
        if status != READY:
            break
        frame = session.frames[-1]
        shared = others_matter(session, frame.program.infos[frame.pc])
        if shared and single == BEHIND:
            break
        look(frame, shared)
        status = run(session, 1, single=single, acted=acted)
        if session.pending is not None:
            break
        if shared and single:
            single = BEHIND
        budget -= 1
    return status
