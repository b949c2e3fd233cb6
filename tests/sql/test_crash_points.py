"""A deployment or a removal may be killed anywhere: run again, it ends as a straight one."""

from . import catalog
from .bare import Bare, installation, removal
from .lab import AUDIT, Client, send


def test_a_deployment_killed_after_any_batch_is_finished_by_the_next(capsys):
    """B.3 of the peers: crash points of deploy, all N of them."""
    straight = Bare()
    straight.deploy(AUDIT)
    wanted, batches = straight.catalog(), installation(AUDIT)
    killed = Bare()
    for count in range(len(batches)):
        killed.run(batches[count : count + 1])
        state = killed.instance.snapshot()
        killed.deploy(AUDIT)
        assert catalog.difference(wanted, killed.catalog()) == [], count
        state.restore()
        killed.sa = Client(killed)
    with capsys.disabled():
        print(f"\n{len(batches)} places to kill a deployment of audit: each run again is whole")


def test_a_removal_killed_after_any_statement_is_finished_by_the_next(capsys):
    """Uninstall with purge; the dialog of the message sent is drained on the way."""
    bare = Bare()
    before = bare.catalog()
    bare.deploy(AUDIT)
    Client(bare).execute(send("0x01"))
    start = bare.instance.snapshot()
    killed = 0
    while bare.killed_after(removal(AUDIT), killed):
        bare.remove(AUDIT)
        assert catalog.difference(before, bare.catalog()) == [], killed
        start.restore()
        bare.sa = Client(bare)
        killed += 1
    with capsys.disabled():
        print(f"\n{killed} statements to kill a removal at: the next one finishes each")
    assert killed > 100


def test_a_removal_takes_away_what_a_deployment_killed_after_any_batch_has_left():
    bare = Bare()
    before = bare.catalog()
    batches = installation(AUDIT)
    for count in range(len(batches)):
        bare.run(batches[count : count + 1])
        state = bare.instance.snapshot()
        bare.remove(AUDIT)
        assert catalog.difference(before, bare.catalog()) == [], batches[count][:100]
        state.restore()
        bare.sa = Client(bare)
