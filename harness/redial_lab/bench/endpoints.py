"""A dialog per message: what two million CLOSED endpoints cost (seed 001, F-300).

``python -m redial_lab.bench.endpoints`` plays 1,112 messages a second for 32 virtual minutes, so that
two million endpoints of the target wait out their half hour, and prints what a message costs while
they pile up and once the first ones are cleaned away.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redial_broker.instance.session import Session

PER_SECOND = 1_112
"""Messages a second: two million in the thirty minutes a CLOSED row is kept."""

MINUTES = 32
"""Two more than a CLOSED row is kept, so that the last two also clean up."""

SETUP = (
    """
CREATE MESSAGE TYPE [Line] VALIDATION = NONE;
CREATE CONTRACT [Lines] ([Line] SENT BY INITIATOR);
CREATE QUEUE dbo.SenderQueue;
CREATE QUEUE dbo.TargetQueue;
CREATE SERVICE [Sender] ON QUEUE dbo.SenderQueue ([Lines]);
CREATE SERVICE [Target] ON QUEUE dbo.TargetQueue ([Lines]);
""",
    """
CREATE PROCEDURE dbo.usp_SendEachOnItsOwn @Count int
AS
SET NOCOUNT ON;
DECLARE @handle uniqueidentifier, @sent int = 0;
WHILE @sent < @Count
BEGIN
    BEGIN TRANSACTION;
    BEGIN DIALOG CONVERSATION @handle
        FROM SERVICE [Sender] TO SERVICE N'Target' ON CONTRACT [Lines] WITH ENCRYPTION = OFF;
    SEND ON CONVERSATION @handle MESSAGE TYPE [Line] (0x53656564203030310D0A);
    END CONVERSATION @handle;
    COMMIT TRANSACTION;
    SET @sent += 1;
END;
""",
    """
CREATE PROCEDURE dbo.usp_ReadAll
AS
SET NOCOUNT ON;
DECLARE @handle uniqueidentifier, @type sysname;
WHILE 1 = 1
BEGIN
    SET @handle = NULL;
    BEGIN TRANSACTION;
    RECEIVE TOP (1) @handle = conversation_handle, @type = message_type_name
        FROM dbo.TargetQueue;
    IF @type = N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog'
        AND @handle IS NOT NULL
        END CONVERSATION @handle;
    COMMIT TRANSACTION;
    IF @handle IS NULL
        BREAK;
END;
""",
)


@dataclass(frozen=True, slots=True)
class Minute:
    """One virtual minute."""

    number: int
    microseconds: float
    """Processor time per message, sent, received and ended (the rest of a shared machine does not
    count)."""
    closed: int
    memory_mb: float


def memory_mb() -> float:
    """Resident memory of this process, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def play(per_second: int = PER_SECOND, minutes: int = MINUTES) -> Iterator[Minute]:
    """The load, minute by minute. RuntimeError when a statement fails."""
    from redial_broker.engine.clock import VirtualClock
    from redial_broker.instance.instance import Instance

    clock = VirtualClock()
    instance = Instance(clock=clock)
    instance.connect("master").execute("CREATE DATABASE Bench;").ok()
    session = instance.connect("Bench")
    for text in SETUP:
        session.execute(text).ok()
    for number in range(1, minutes + 1):
        started = time.process_time()
        for _ in range(60):
            session.execute(f"EXECUTE dbo.usp_SendEachOnItsOwn @Count = {per_second};").ok()
            session.execute("EXECUTE dbo.usp_ReadAll;").ok()
            clock.advance(1.0)
            instance.run()
        seconds = time.process_time() - started
        yield Minute(number, seconds / (60 * per_second) * 1e6, closed(session), memory_mb())


def closed(session: Session) -> int:
    """CLOSED endpoints, as the server tells."""
    found = session.execute(
        "SELECT COUNT(*) FROM sys.conversation_endpoints WHERE state = 'CD';"
    ).ok()
    count: int = found.result_sets[0].rows[0][0]
    return count


def main(tell: Callable[[str], None] = print) -> dict[str, float]:
    """Play the whole load and tell every minute. Returns the figures by their stable names."""
    seen = []
    for minute in play():
        seen.append(minute)
        tell(
            f"minute {minute.number:2}: {minute.microseconds:6.1f} us a message, "
            f"{minute.closed:9,} CLOSED, {minute.memory_mb:7,.0f} MB"
        )
    early = sorted(minute.microseconds for minute in seen[:4])[1]
    late = sorted(minute.microseconds for minute in seen[-4:])[1]
    return {
        "endpoints.closed": max(minute.closed for minute in seen),
        "endpoints.memory_mb": max(minute.memory_mb for minute in seen),
        "endpoints.us_per_message": late,
        "endpoints.late_to_early": late / early,
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name} {value:,.2f}")
