"""What the explorer needs of triggers: a rewound statement runs again to the same states."""

from redial_broker.exec.machine import SINGLE
from redial_broker.instance.requests import Batch


def steps(lab) -> list[str]:
    """Run the session step by step; what it looked like after each."""
    seen = []
    while lab.session.frames and len(seen) < 50:
        lab.instance.engine.journal.mark()
        lab.instance.machine.run(lab.session, single=SINGLE)
        tables = [lab.table(name).content() for name in ("t", "log")]
        seen.append(
            repr(
                (
                    lab.session.content(),
                    [table[0] for table in tables],
                    [list(lab.table(name).rows.entries.values()) for name in ("t", "log")],
                )
            )
        )
    return seen


def test_a_statement_rewound_in_the_middle_of_its_trigger_ends_the_same(lab):
    lab.run(
        "CREATE TRIGGER a ON dbo.t AFTER INSERT AS BEGIN "
        "INSERT dbo.log (what, id) SELECT 'a', id FROM inserted; "
        "INSERT dbo.log (what, x) SELECT 'b', @@ROWCOUNT FROM inserted END"
    )
    lab.run("CREATE TRIGGER b ON dbo.t AFTER INSERT AS INSERT dbo.log (what) VALUES ('c')")
    journal = lab.instance.engine.journal
    journal.recording = True
    lab.session.submit(
        Batch("INSERT dbo.t VALUES (1, 2), (3, 4); INSERT dbo.log (what) VALUES ('d')")
    )
    start = journal.mark()
    for _ in range(3):
        journal.mark()
        lab.instance.machine.run(lab.session, single=SINGLE)
    assert lab.session.frames[-1].program.name in {"a", "b"}
    middle = journal.mark()
    rest = steps(lab)
    journal.rewind(middle)
    assert steps(lab) == rest
    journal.rewind(start)
    whole = steps(lab)
    assert whole[-len(rest) :] == rest
    assert len(whole) == len(rest) + 3
