"""``invoke test``: the suite."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from redial.cli.errors import UserError, command
from redial_lab.commands import clone
from redial_lab.commands.near import NOTHING, PYTEST
from redial_lab.commands.near import near as run_near
from redial_lab.git import git
from redial_lab.nights import NIGHTLY, Ended, Nights, Outcome

OF_A_NIGHT = ("REDIAL_PART", "REDIAL_DONE", "REDIAL_KEEPS")
"""Environment variables (tests/sampling.py) that this command sets, so it takes none over."""
WRITTEN = (NIGHTLY, "evidence/answer-matrix.json", "docs/generated/answer-matrix.md")
"""What a night itself writes (.ci/nightly): the next one runs although nobody has committed them."""
ENDED = (0, 1, NOTHING)
"""pytest's statuses of a run that came to its end: green, red, and without a test."""
_PART = re.compile(r"([1-9]\d*)/([1-9]\d*)")


@command
def test(
    select: str | None = None,
    full: bool = False,
    near: bool = False,
    since: str = "",
    repeat: int = 1,
    part: str = "",
) -> int:
    """Run pytest on all processors; its exit status is ours.

    select: pytest's -k. full: a third of what the gate leaves out too, in turns by the day (all with
    REDIAL_NIGHT=all), and searches to their end; see ``tests/sampling.py``. The ten slowest tests are told;
    what each took, in seconds, is in var/tests.xml. near, since, repeat: see ``near``. part: K/N, of full,
    without what has passed on this commit before. What full has passed is kept (``nights.py``). Raises
    UserError.
    """
    root = clone("redial test")
    if near:
        if full or select or part:
            raise UserError(
                "--near", "chooses the tests itself", "leave --full, --part, --select out"
            )
        return run_near(root, since, repeat)
    if since or repeat != 1:
        raise UserError("--since, --repeat", "go with --near only", "add --near")
    found = _PART.fullmatch(part)
    if part and (select or not full or found is None or int(found[1]) > int(found[2])):
        raise UserError(f"--part {part}", "is no part of --full", "use --full --part 1/3, say")
    arguments = [*PYTEST, "--durations=10", "--junitxml=var/tests.xml"]
    arguments += ["-k", select] if select else []
    environment = os.environ | ({"REDIAL_FULL": "1"} if full else {})
    # What is compiled once is kept: the tests start hundreds of processes.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    for name in OF_A_NIGHT:  # the suite runs this command too, in a night of ours
        environment.pop(name, None)
    if full and not select:
        return _night(root, part, arguments, environment)
    return subprocess.run(arguments, cwd=root, env=environment, check=False).returncode


def _night(root: Path, part: str, arguments: list[str], environment: dict[str, str]) -> int:
    """Run a part without what has passed on this commit, or all, and keep what has passed.

    Where nothing of a part is left, the status is 0.
    """
    environment |= {"REDIAL_PART": part} if part else {}
    commit = _committed(root)
    if not commit:
        print("files are not committed: all of it runs, and nothing is kept")
        return subprocess.run(arguments, cwd=root, env=environment, check=False).returncode
    kept = root / "var" / "full" / f"{commit}-{part.replace('/', '-of-') or 'all'}.txt"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.touch()
    done = [one for one in _outcomes(kept) if part and one.how is Ended.PASSED]
    before = kept.with_suffix(".before")  # workers must all read the same
    before.write_text("".join(f"{one.id}\n" for one in done), "utf-8")
    kept.write_text("".join(one.line() for one in done), "utf-8")
    environment |= {"REDIAL_KEEPS": str(kept)} | ({"REDIAL_DONE": str(before)} if part else {})
    print(
        f"{f'part {part}' if part else 'all'} of --full on {commit[:12]}; passed before: {len(done)}"
    )
    status = subprocess.run(arguments, cwd=root, env=environment, check=False).returncode
    nightly = root / NIGHTLY
    ended = (part or "1/1") if status in ENDED else ""
    Nights.read(nightly).after(_outcomes(kept), ended).write(nightly)
    if git(root, "status", "--porcelain", "--", NIGHTLY):
        print(f"{NIGHTLY} has changed: commit it, or what is new in it runs on the gate as well")
    return 0 if status == NOTHING and done else status


def _committed(root: Path) -> str:
    """The commit of every file there is, but for what nights write; '' where there is none."""
    try:
        if git(root, "status", "--porcelain", "--", ".", *(f":!{path}" for path in WRITTEN)):
            return ""
        return git(root, "rev-parse", "HEAD").strip()
    except RuntimeError:  # an unpacked archive
        return ""


def _outcomes(kept: Path) -> list[Outcome]:
    """What has ended; of a line that was cut off nothing is known."""
    lines = kept.read_text("utf-8").splitlines(keepends=True)
    return [Outcome.of(line[:-1]) for line in lines if line.endswith("\n")]
