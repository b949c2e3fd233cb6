"""A deployment or a removal may be killed anywhere: run again, it ends as a straight one.

At night a third of the places is tried that leave something else (Bare.changes), in turns.
"""

import re
from collections.abc import Iterable
from itertools import count

from tests.sampling import Cases, crash_stride, tonight, turn

from . import catalog
from .bare import Bare, another, fresh_catalog, installation, installer, removal
from .lab import AUDIT, Client, send

STRIDE = crash_stride(79)
"""Every how many places a test kills: 1 is all of them, and takes minutes."""


def places(bare: Bare, batches: list[str], first: int, usual: int) -> Iterable[int]:
    """After how many statements a test kills. usual: the stride on the gate."""
    stride = crash_stride(usual)
    return tonight(bare.changes(batches)) if stride == 1 else count(first, stride)


def test_a_deployment_killed_after_any_batch_is_finished_by_the_next_or_removed(capsys):
    """B.3 of the peers: crash points of deploy. Finished and removed in turns."""
    empty, wanted, batches = fresh_catalog(None), fresh_catalog(AUDIT), installation(AUDIT)
    bare = Bare()
    every = [*range(STRIDE, len(batches), STRIDE)]
    ends, begin = (tonight(every) if STRIDE == 1 else every), 0
    for number, end in enumerate(ends, turn(2)):
        bare.run(batches[begin:end])
        begin, state, finished = end, bare.instance.snapshot(), number % 2 == 0
        if finished:
            bare.deploy(AUDIT)
        elif catalog.difference(empty, bare.catalog()):  # else there is nothing to remove (50142)
            bare.remove(AUDIT)
        after = bare.catalog()
        assert catalog.difference(wanted if finished else empty, after) == [], batches[end][:100]
        state.restore()
        bare.sa = Client(bare)
    with capsys.disabled():
        print(f"\na deployment of {len(batches)} batches, killed after {len(ends)}: made good")


def test_the_files_killed_after_any_statement_are_finished_by_their_next_run(capsys):
    """From the first file on: what is there stays."""
    bare, wanted = Bare(), fresh_catalog(AUDIT)
    start, cases = bare.instance.snapshot(), Cases()
    for killed in places(bare, installer(AUDIT), 40, 661):
        if not bare.killed_after(installer(AUDIT), killed):
            break
        if not cases.new(bare.left()):
            start.restore()
            bare.sa = Client(bare)
            continue
        bare.run(installer(AUDIT))
        assert catalog.difference(wanted, bare.catalog()) == [], killed
        start.restore()
        bare.sa = Client(bare)
    with capsys.disabled():
        print(
            f"\nan installer of {killed} statements, killed: "
            f"{len(cases)} states were left, each made good"
        )
    assert killed > 600 and len(cases) >= 2


def test_a_removal_killed_after_any_statement_is_finished_by_the_next(capsys):
    """Uninstall with purge; the dialog of the message sent is drained on the way."""
    bare = Bare()
    before = bare.catalog()
    bare.deploy(AUDIT)
    Client(bare).execute(send("0x01"))
    start, cases = bare.instance.snapshot(), Cases()
    for killed in places(bare, removal(AUDIT), 0, 397):
        if not bare.killed_after(removal(AUDIT), killed):
            break
        if not cases.new(bare.left()):
            start.restore()
            bare.sa = Client(bare)
            continue
        if catalog.difference(before, bare.catalog()):  # else it was over
            bare.remove(AUDIT)
        assert catalog.difference(before, bare.catalog()) == [], killed
        start.restore()
        bare.sa = Client(bare)
    with capsys.disabled():
        print(
            f"\na removal of {killed} statements, killed: "
            f"{len(cases)} states were left, each made good"
        )
    assert killed > 100 and len(cases) > 1


def test_a_table_killed_at_any_statement_of_its_script_is_whole_after_the_next(capsys):
    """Table, indexes, lock escalation and mark are one transaction: what is there is looked up by
    its name, so a half would be taken for the whole for ever."""
    config = another(
        AUDIT, conversation={"key": "application", "order": "key", "delivery": "exactly_once"}
    )
    bare = Bare()
    killed, stride = 0, crash_stride(7)
    for sql in installation(config):
        if not re.search(r"^ +CREATE (TABLE|TYPE|QUEUE) ", sql, re.M):
            bare.run([sql])
            continue
        start = bare.instance.snapshot()
        bare.run([sql])
        wanted = bare.catalog()
        start.restore()
        bare.sa = Client(bare)
        statements = killed % stride  # not the same place of each
        while bare.killed_after([sql], statements):
            bare.run([sql])
            assert catalog.difference(wanted, bare.catalog()) == [], (statements, sql[:200])
            start.restore()
            bare.sa = Client(bare)
            statements += stride
        killed += statements
        bare.run([sql])
    with capsys.disabled():
        print(
            f"\n{killed} statements to kill the making of a table, type or queue at, every "
            f"{stride}: made good"
        )
    assert killed > 60
