"""How an audit answers: its figures, its page, its exit status, and what keeps it from a verdict.

Status 1 means a loss and nothing else. So whatever goes wrong on the way is 2, and a loss that was
found is 1 whatever else could not be written.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redial.spark.errors import PipelineError, reason, shown, status_of

if TYPE_CHECKING:
    from argparse import Namespace

    from redial.spark.audit_report import Report

NO_VERDICT = 2
THEIRS = frozenset({"pyspark", "py4j", "pyarrow", "grpc", "deltalake", "_internal"})
"""Packages whose errors are about Spark, Java or files: one line says more than a traceback."""


def status_of_verdict(
    function: Callable[[], int], failed: str = "the audit could not be made"
) -> int:
    """The exit status of a job; without a verdict NO_VERDICT, whatever the reason, which is said
    on standard error after ``failed``. A wrong argument has its own way out with the same status
    (argparse)."""
    try:
        return status_of(function)
    except KeyboardInterrupt:
        said = "interrupted"
    except Exception as error:
        said = _said(error)
    _say(f"{failed}: {said}")
    return NO_VERDICT


def tell(report: Report, chosen: Namespace, show: Callable[[Any, Report], None]) -> int:
    """Write the figures, show the report and write the page, each though another fails.

    Returns report.status; where that is 0 and something could not be written, NO_VERDICT: whoever
    asked for it must not take yesterday's file for today's.
    """
    from rich.console import Console

    json_, html = chosen.json, chosen.html
    tries: list[tuple[str, object, Callable[[], None]]] = [
        (f"--json {json_}", json_, lambda: _figures(report, json_)),
        ("the terminal", True, lambda: _printed(lambda: show(Console(), report))),
        (f"--html {html}", html, lambda: _page(report, html)),
    ]
    failed = [what for what, wanted, write in tries if wanted and not _done(what, write)]
    if failed:
        _say(f"the verdict stands: {report.verdict()}")
    return report.status(chosen.strict) or (NO_VERDICT if failed else 0)


def _done(what: str, write: Callable[[], None]) -> bool:
    """Whether it could be written; if not, why is said."""
    try:
        write()
    except Exception as error:
        _say(f"{what} could not be written: {_said(error)}")
        return False
    return True


def _figures(report: Report, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(report.as_json(), indent=2, default=str) + "\n"
    path.write_text(text, encoding="utf-8")


def _page(report: Report, path: Path) -> None:
    from redial.spark.audit_page import write_page

    write_page(report, path)
    _printed(lambda: print(f"page: {path}"))


def _printed(prints: Callable[[], None]) -> None:
    """Written and flushed. A pipe nobody reads, or a full disk: Python would try again at its end
    and make the status 120, so standard output then leads nowhere."""
    try:
        prints()
        sys.stdout.flush()
    except OSError:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _said(error: Exception) -> str:
    """Cause and next step; a defect of ours keeps its traceback."""
    if isinstance(error, PipelineError):
        return shown(error)
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}\n  Next: check the path and its permissions"
    if isinstance(error, OSError) or _of(error) & THEIRS:
        # Java's words end with the innermost cause, Python's begin with what matters.
        text = str(error).strip() or type(error).__name__
        words = reason(text) if "\tat " in text else text.splitlines()[0]
        return f"{words}\n  Next: remove the cause, then the same command again"
    return f"a defect of ours, please report it\n{''.join(traceback.format_exception(error))}"


def _of(error: Exception) -> set[str]:
    """The packages an error's classes are of."""
    return {kind.__module__.partition(".")[0] for kind in type(error).__mro__}


def _say(text: str) -> None:
    """On standard error, if there is one."""
    with suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)
