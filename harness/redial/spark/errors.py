"""What a job of the pipeline cannot do here: object, cause, next step; never a traceback."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress

from platformdirs import user_log_path

LONGEST = 2000
"""Characters of Spark's words that are shown: ours, with their next step, are shorter."""


_FRAME = re.compile(r"\s*(at [\w.$/]+\(.*|\.\.\. \d+ more|(SQLSTATE: \w+\s*)+)?$")
"""Lines of a stack, which say nothing of the cause."""


class PipelineError(RuntimeError):
    """what: the object concerned. why: the cause. next: what helps. whole: all that Spark said."""

    def __init__(self, what: str, why: str, next: str, whole: str = "") -> None:
        self.what, self.why, self.next, self.whole = what, why, next, whole
        super().__init__(f"{what}: {why}. Next: {next}")


def status_of(function: Callable[[], int]) -> int:
    """The exit status of a job; an expected error is shown on standard error and is status 2."""
    from redial.spark.connect import SourceError
    from redial.spark.options import OptionsError

    try:
        return function()
    except PipelineError as error:
        print(shown(error), file=sys.stderr)
    except (SourceError, OptionsError) as error:  # say object, cause and next step themselves
        print(error, file=sys.stderr)
    return 2


def shown(error: PipelineError) -> str:
    """A line of cause, one of next step, and where the whole of it is."""
    lines = [f"{error.what}: {error.why}", f"  Next: {error.next}"]
    if error.whole:
        path = user_log_path("redial") / f"{error.what}-{os.getpid()}.log"
        with suppress(OSError):  # nowhere to write: the two lines say what matters
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(error.whole, encoding="utf-8")
            lines.append(f"  All that Spark said: {path}")
    return "\n".join(lines)


def reason(log: str) -> str:
    """The line of Spark's words that says most: the innermost cause, else the last line that is none
    of a stack."""
    causes = re.findall(r"(?m)^(?:Caused by: |: )?([\w.$]+(?:Exception|Error): .*)$", log)
    lines = [line.strip() for line in log.splitlines() if not _FRAME.match(line)]
    return (causes[-1] if causes else lines[-1] if lines else "it said nothing")[:LONGEST]
