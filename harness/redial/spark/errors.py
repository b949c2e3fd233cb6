"""What a job of the pipeline cannot do here: object, cause, next step; never a traceback."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

LONGEST = 2000
"""Characters of Spark's words that are shown: ours, with their next step, are shorter."""


class PipelineError(RuntimeError):
    """what: the object concerned. why: the cause. next: what helps."""

    def __init__(self, what: str, why: str, next: str) -> None:
        self.what, self.why, self.next = what, why, next
        super().__init__(f"{what}: {why}. Next: {next}")


def status_of(function: Callable[[], int]) -> int:
    """The exit status of a job; an expected error is shown on standard error and is status 2."""
    from redial.spark.connect import SourceError
    from redial.spark.options import OptionsError

    try:
        return function()
    except PipelineError as error:
        print(f"{error.what}: {error.why}\n  Next: {error.next}", file=sys.stderr)
    except (SourceError, OptionsError) as error:  # say object, cause and next step themselves
        print(error, file=sys.stderr)
    return 2


def reason(log: str) -> str:
    """The line of Spark's words that says most: the innermost cause, else the last line."""
    causes = re.findall(r"(?m)^(?:Caused by: |: )?([\w.$]+(?:Exception|Error): .*)$", log)
    lines = log.strip().splitlines()
    return (causes[-1] if causes else lines[-1] if lines else "it said nothing")[:LONGEST]
