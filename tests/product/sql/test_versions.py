"""Which version may follow which: migrations, and the way back. Versions later than this one are made
up here: the shipped templates with one column more, and the migration that adds it."""

import hashlib
import re
import shutil
from pathlib import Path

import pytest

from redial.config import Config
from redial.paths import SQL, TEMPLATES
from redial.render import render, renderer
from tests.installed import batches, rendered
from tests.sampling import crash_stride

from . import catalog
from .bare import FILE, Bare, another
from .lab import AUDIT, Client, send

MIGRATIONS = "core/35_migrations"
LOCK = SQL / "migrations.lock"
MIGRATION = """\
/* Migration {number}: {column}, as a later version might need it.
   Additive, in one transaction, and looked up before it runs: again does nothing. */
SET XACT_ABORT ON;
IF NOT EXISTS (SELECT 1 FROM {{{{ own('Migration') }}}} AS m WHERE m.Number = {number})
BEGIN
    BEGIN TRANSACTION;
    IF COL_LENGTH({{{{ own('{table}') | literal }}}}, N'{column}') IS NULL
        ALTER TABLE {{{{ own('{table}') }}}} ADD {column} int NULL;
    INSERT INTO {{{{ own('Migration') }}}} (Number, Name)
    VALUES ({number}, N'{table}_{column}');
    COMMIT TRANSACTION;
END;
GO
"""
"""What 35_migrations/README.md asks of one."""
ADDED = [("Landing", "Extra"), ("DeadLetter", "Weight")]
"""What migrations 1 and 2 add: table, column."""
VERSIONS = {"0.1.0": 0, "0.1.1": 0, "1.1.0": 1, "1.2.0": 2}
"""Made-up versions -> how many migrations they know."""


class Releases:
    """The installation scripts of each version, as batches."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.files: dict[str, dict[str, str]] = {}
        for version, known in VERSIONS.items():
            root = folder / version
            shutil.copytree(TEMPLATES, root / "templates")
            for number, (table, column) in enumerate(ADDED[:known], 1):
                self._add(root / "templates", number, table, column)
            patch.setattr(renderer, "VERSION", version)
            self.files[version] = render(AUDIT, root)
        patch.undo()

    @staticmethod
    def _add(templates: Path, number: int, table: str, column: str) -> None:
        """A migration, and its column where the table is made."""
        text = MIGRATION.format(number=number, table=table, column=column)
        place = templates / MIGRATIONS / f"{number:02}_{table}_{column}.migration.sql.j2"
        place.write_text(text, encoding="utf-8")
        made = templates / "core" / "30_tables" / f"{table}.table.sql.j2"
        old = made.read_text(encoding="utf-8")
        key = f"        CONSTRAINT [PK_{table}]"
        assert old.count(key) == 1
        made.write_text(old.replace(key, f"        {column} int NULL,\n{key}"), encoding="utf-8")

    def install(self, version: str) -> list[str]:
        files = self.files[version]
        return [sql for name in files if name[:2].isdigit() for sql in batches(files[name])]

    def uninstall(self, version: str) -> list[str]:
        return list(batches(self.files[version]["uninstall.sql"]))


@pytest.fixture(scope="module")
def releases(tmp_path_factory) -> Releases:
    with pytest.MonkeyPatch.context() as patch:
        return Releases(tmp_path_factory.mktemp("releases"), patch)


def works(bare: Bare, body: int) -> bool:
    """Whether a message lands that is sent now."""
    Client(bare).execute(send(f"0x{body:02x}"))
    bare.advance(5)
    return bytes([body]) in bare.bodies()


def migrated(bare: Bare) -> list[int]:
    return [row[0] for row in bare.rows("SELECT Number FROM audit.Migration ORDER BY Number;")]


WAYS = [
    (there, then, 0 if known_there <= known_then else 50225)
    for there, known_there in VERSIONS.items()
    for then, known_then in VERSIONS.items()
]
"""Every version over every other: what it answers. 0: it works. The rule: a script refuses where a
migration has run that it does not know."""


@pytest.mark.sampled(every=7, meets=("answer",), last=False)
@pytest.mark.parametrize(("there", "then", "answer"), WAYS)
def test_a_version_follows_another_or_refuses_before_it_touches_anything(
    releases, there, then, answer
):
    bare = Bare()
    bare.run(releases.install(there))
    assert works(bare, 1)
    before, data = bare.catalog(), bare.data("audit")
    assert bare.stops(releases.install(then)) == answer
    if answer:
        text = bare.sa.errors[0].text
        assert f"(version {there})" in text and "Next: " in text and "uninstall.sql" in text
        assert catalog.difference(before, bare.catalog()) == [] and bare.data("audit") == data
    else:
        after = bare.data("audit")
        width = len(data["Landing"][0])
        assert [row[:width] for row in after["Landing"]] == data["Landing"]
        assert migrated(bare) == list(range(1, VERSIONS[then] + 1))
        (version,) = bare.rows(
            "SELECT TOP (1) Version FROM audit.DeploymentHistory ORDER BY DeploymentId DESC;"
        )
        assert version == (then,)
    assert works(bare, 2)


def test_an_upgraded_installation_is_the_one_a_new_database_gets(releases):
    upgraded, new = Bare(), Bare()
    for version in ("0.1.0", "1.1.0", "1.2.0"):
        upgraded.run(releases.install(version))
    new.run(releases.install("1.2.0"))
    assert migrated(new) == migrated(upgraded) == [1, 2]
    assert catalog.difference(new.catalog(), upgraded.catalog()) == []


def test_the_way_back_is_the_later_versions_uninstall_and_data_stays(releases):
    """Older procedures run on the later tables: what a migration adds may be NULL."""
    bare = Bare()
    bare.run(releases.install("1.2.0"))
    assert works(bare, 1)
    bare.run(releases.uninstall("1.2.0"))
    bare.run(releases.install("0.1.0"))
    assert works(bare, 2) and bare.bodies() == [b"\x01", b"\x02"]
    assert migrated(bare) == [1, 2]  # the tables are as they were
    bare.run(releases.install("1.2.0"))
    assert works(bare, 3)


def test_a_refusal_of_a_later_version_stops_the_files(releases):
    """As sqlcmd and SSMS run them, where errors stop nothing."""
    bare = Bare()
    bare.run(releases.install("1.1.0"))
    before = bare.catalog()
    files = releases.files["0.1.0"]
    texts = [files[name] for name in files if FILE.fullmatch(name)]
    said = [number for text in texts for sql in batches(text) for number in bare.attempt(sql)]
    assert said == [50225] + [50233] * (len(texts) - 1)
    assert catalog.difference(before, bare.catalog()) == []


def test_a_migration_killed_at_any_statement_is_finished_by_the_next_deployment(releases, capsys):
    bare = Bare()
    bare.run(releases.install("0.1.0"))
    assert works(bare, 1)
    batches = releases.install("1.2.0")
    first, *_, last = [
        n for n, sql in enumerate(batches) if "Migration " in sql and "ADD" in sql
    ] * 2
    wanted = Bare()
    wanted.run(releases.install("1.2.0"))
    bare.run(batches[:first])
    start, killed, stride = bare.instance.snapshot(), 0, crash_stride(7)
    while bare.killed_after(batches[first : last + 1], killed * stride):
        bare.run(batches)
        assert catalog.difference(wanted.catalog(), bare.catalog()) == [], killed
        assert bare.bodies() == [b"\x01"] and migrated(bare) == [1, 2]
        start.restore()
        bare.sa = Client(bare)
        killed += 1
    with capsys.disabled():
        print(
            f"\n{killed} places to kill two migrations at, every {stride} statements: whole after"
        )
    assert killed * stride >= 10


def test_health_finds_a_migration_that_was_not_applied(releases):
    bare = Bare()
    bare.run(releases.install("1.2.0"))
    health = "EXECUTE audit.usp_Health;"
    assert "migration missing" not in {row[1] for row in bare.rows(health)}
    bare.run(["DELETE FROM audit.Migration WHERE Number = 1;"])
    assert "migration missing" in {row[1] for row in bare.rows(health)}
    bare.run(releases.install("1.2.0"))
    assert migrated(bare) == [1, 2]
    assert "migration missing" not in {row[1] for row in bare.rows(health)}


# ---------------------------------------------------------------------- the rules of the folder
def checksums(config: Config) -> dict[str, str]:
    """Number and name of each migration, and what its text is for one configuration."""
    return {
        name.removesuffix(".migration.sql"): hashlib.sha256(text.encode()).hexdigest()
        for name, text in rendered(config).items()
        if name.endswith(".migration.sql")
    }


FIXED = another(
    AUDIT,
    name="fixed",
    schema="fixed",
    roles={
        "module": "m",
        "sender": "s",
        "operator": "o",
        "reader": "r",
        "module_is_db_owner": True,
    },
)
"""Whatever the shipped configuration becomes, migrations are compared as rendered for this one."""


def test_a_released_migration_never_changes_its_text():
    """Change what a migration did with a new one; a new one is entered in sql/migrations.lock."""
    lines = LOCK.read_text(encoding="utf-8").splitlines()
    locked = dict(line.split()[::-1] for line in lines if line and not line.startswith("#"))
    missing = {f"{text}  {name}" for name, text in checksums(FIXED).items() if name not in locked}
    assert missing == set(), "add these lines to sql/migrations.lock"
    assert locked == checksums(FIXED)


def test_migrations_have_numbers_of_their_own_without_a_gap_and_only_add():
    files = sorted(p.name for p in (TEMPLATES / MIGRATIONS).glob("*.migration.*"))
    assert [int(name[:2]) for name in files] == list(range(1, len(files) + 1))
    for name in files:
        text = (TEMPLATES / MIGRATIONS / name).read_text(encoding="utf-8")
        assert f"m.Number = {int(name[:2])})" in text
        assert "COL_LENGTH(" in text, f"{name}: a new database has the column already"
        assert not re.search(r"DROP (COLUMN|INDEX|TABLE)|ALTER COLUMN|TRUNCATE", text), name


def test_a_new_database_needs_no_migration():
    """Every column is where the table is made, so the schema can be read in one place."""
    for name, text in rendered(AUDIT).items():
        if ".migration." not in name:
            assert not re.search(r"ALTER TABLE \S+ ADD\b", text), name
