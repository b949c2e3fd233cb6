"""One step of a session, statement by statement, for whoever wants to look at each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from redial_broker.engine.inside import ATOMIC
from redial_broker.exec.machine import READY, others_matter

if TYPE_CHECKING:
    from redial_broker.exec.program import Frame
    from redial_broker.exec.session import SessionState


def by_statements(
    run: Callable[..., str],
    session: SessionState,
    budget: int,
    look: Callable[[Frame, bool], None],
    *,
    single: bool = False,
    acted: int = ATOMIC,
) -> str:
    """Run what ``Machine.run`` would run, one statement after the other.

    run: a machine's ``run``. look: called with the frame whose statement comes next, and whether
    others matter to it. The rest as of ``Machine.run``.
    """
    done_shared, status = False, READY
    while budget > 0 and status == READY:
        erred = session.pending is not None
        status = run(session, 0)  # comes to the next statement
        done_shared = done_shared or erred
        if erred or not session.frames or status != READY:
            continue
        frame = session.frames[-1]
        shared = others_matter(session, frame.program.infos[frame.pc])
        if single and done_shared and shared:
            return READY
        done_shared = done_shared or shared
        look(frame, shared)
        status = run(session, 1, acted=acted)
        budget -= 1
    return status
