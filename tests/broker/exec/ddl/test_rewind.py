"""What the explorer needs of definitions: rewound, a batch runs again to the same end."""

import pytest

from redial_broker.engine.journal import Part
from tests.broker.exec.lab import Lab

SETUP = """
CREATE TABLE dbo.P (id int CONSTRAINT PK PRIMARY KEY, n int, c AS n * 2 PERSISTED);
CREATE TABLE dbo.C (id int IDENTITY, p int CONSTRAINT FK REFERENCES dbo.P ON DELETE CASCADE
    ON UPDATE CASCADE);
INSERT dbo.P (id, n) VALUES (1, 10), (2, 20); INSERT dbo.C (p) VALUES (1), (2), (2);
"""

BATCHES = [
    "DELETE dbo.P WHERE id = 2",
    "UPDATE dbo.P SET id += 10, n += 1",
    "ALTER TABLE dbo.P ADD z AS id + 1; CREATE UNIQUE INDEX I ON dbo.P (z DESC)",
    "EXEC sp_rename 'dbo.P', 'Q'; EXEC sp_rename 'dbo.Q.n', 'm', 'COLUMN'",
    "ALTER TABLE dbo.C NOCHECK CONSTRAINT FK; INSERT dbo.C (p) VALUES (9)",
    "CREATE SYNONYM dbo.Y FOR dbo.C; CREATE STATISTICS S ON dbo.C (p); DELETE dbo.Y",
    "EXEC (N'CREATE PROCEDURE #p AS SELECT 1'); EXEC #p; CREATE TABLE ##g (a int)",
    "EXEC (N'CREATE TRIGGER d ON DATABASE FOR CREATE_TABLE AS ROLLBACK'); "
    "CREATE TABLE dbo.N (a int)",
    "DBCC CHECKIDENT ('dbo.C', RESEED, 50); INSERT dbo.C (p) VALUES (1)",
    "EXEC sp_configure 'nested triggers', 0; RECONFIGURE",
    "ALTER DATABASE lab SET RECURSIVE_TRIGGERS ON, ANSI_NULL_DEFAULT ON",
    "BEGIN TRAN; DROP TABLE dbo.C; DROP TABLE dbo.P; ROLLBACK",
]


def seen(lab):
    """Everything tables and definitions show, and the hash of every part that has one."""
    database = lab.session.database
    found = [database.content()]
    for key, item in sorted(database.objects.items()):
        content = item.content() if isinstance(item, Part) else None
        found.append((key, type(item).__name__, repr(content)))
    server = database.server
    return repr(
        (
            found,
            sorted(server.configuration.items()),
            sorted(lab.session.temp_procedures),
            sorted(server.databases["tempdb"].objects),
            sorted(database.ddl_triggers),
        )
    )


@pytest.mark.parametrize("batch", BATCHES)
def test_a_rewound_batch_leaves_nothing_and_runs_again_to_the_same_end(batch):
    lab = Lab()
    lab.run(SETUP)
    journal = lab.instance.engine.journal
    journal.recording = True
    before, mark = seen(lab), journal.mark()
    first = [m.number for m in lab.send(batch).messages], seen(lab)
    journal.rewind(mark)
    assert seen(lab) == before
    assert ([m.number for m in lab.send(batch).messages], seen(lab)) == first
    assert not lab.instance.engine.locks.resources
