"""Poison: messages that cannot land, among others that can, while callers go on sending.

A constraint refuses some; some doom the transaction of the whole batch. Each is dead-lettered with
its code, its neighbours land, and the queue is never switched off. With six readers its own poison
handling is off (F-488): a reader that did not look for the doomed row would never get past it.
"""

from __future__ import annotations

from redial_lab.scenarios.story import Scenario, Story
from redial_lab.scenarios.total_queue import Expected

REFUSED, DOOMED, CALLERS, EACH = 0, 1, 6, 12


def tell(story: Story) -> None:
    """Two of the callers send nothing but poison."""
    body = "CONVERT(varchar(max), Body)"
    story.sql(
        f"ALTER TABLE {story.schema}.Landing ADD CONSTRAINT CK_Refused CHECK "
        f"({body} NOT LIKE '%\"client\":{REFUSED},%');"
    )
    story.sql(
        f"ALTER TABLE {story.schema}.Landing ADD CONSTRAINT CK_Doomed CHECK "
        f"({body} NOT LIKE '%\"client\":{DOOMED},%' "
        f"OR CONVERT(int, 'x' + LEFT({body}, 3)) = 1);"
    )
    senders = [story.sender() for _ in range(CALLERS)]
    story.together(senders, EACH // 2, in_transaction=3)
    story.wait(5)
    story.together(senders, EACH - EACH // 2)
    story.expects_dead((bad, n) for bad in (REFUSED, DOOMED) for n in range(EACH))
    story.rests()
    off = story.sql(
        "SELECT COUNT(*) FROM sys.service_queues WHERE is_ms_shipped = 0 AND "
        "(is_receive_enabled = 0 OR is_activation_enabled = 0);"
    )[0][0]
    story.insists(off == 0, f"{off} queues are switched off")


SCENARIO = Scenario(
    "poison",
    tell,
    mutant="poison_not_recorded",
    changes={
        "timer": {"after_seconds": 20, "spread_seconds": 5, "retry_seconds": 2},
        "target": {"readers": 6},
    },
    expected=Expected(logged=frozenset({245})),
)
