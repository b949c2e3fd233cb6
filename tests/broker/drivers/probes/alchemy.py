"""SQLAlchemy's SQL Server dialects: mssql+pyodbc (ODBC Driver 18) and mssql+pymssql."""

from __future__ import annotations

import datetime
import urllib.parse
from decimal import Decimal

import sqlalchemy as sa
from sqlalchemy import orm

from tests.broker.drivers.probe import check, fails, main, options

GIVEN = options()
PYODBC = GIVEN.driver == "sqlalchemy+pyodbc"


def engine(**more) -> sa.Engine:
    """An engine on database matrix."""
    if PYODBC:
        odbc = GIVEN.odbc.replace("Database=master", "Database=matrix")
        return sa.create_engine("mssql+pyodbc:///?odbc_connect=" + urllib.parse.quote(odbc), **more)
    url = sa.URL.create(
        "mssql+pymssql", GIVEN.user, GIVEN.password, "127.0.0.1", GIVEN.port, "matrix"
    )
    return sa.create_engine(url, **more)


ENGINE = engine()


class Base(orm.DeclarativeBase):
    """What create_all makes."""


class Customer(Base):
    """A table with an identity, a unique constraint, an index, a check and a default."""

    __tablename__ = "customer"
    __table_args__ = (
        sa.UniqueConstraint("code", name="UQ_customer_code"),
        sa.Index("IX_customer_name", "name", mssql_include=["code"]),
        sa.CheckConstraint("balance >= 0", name="CK_customer_balance"),
    )
    id: orm.Mapped[int] = orm.mapped_column(sa.Identity(start=10, increment=5), primary_key=True)
    code: orm.Mapped[str] = orm.mapped_column(sa.Unicode(20))
    name: orm.Mapped[str | None] = orm.mapped_column(sa.Unicode(100))
    balance: orm.Mapped[Decimal] = orm.mapped_column(sa.Numeric(18, 4), server_default="0")
    since: orm.Mapped[datetime.datetime | None] = orm.mapped_column(sa.DateTime)
    picture: orm.Mapped[bytes | None] = orm.mapped_column(sa.LargeBinary)
    active: orm.Mapped[bool] = orm.mapped_column(sa.Boolean, server_default=sa.true())
    orders: orm.Mapped[list[Order]] = orm.relationship(
        back_populates="customer", cascade="all, delete-orphan"
    )


class Order(Base):
    """A table that refers to another one."""

    __tablename__ = "order"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    customer_id: orm.Mapped[int] = orm.mapped_column(
        sa.ForeignKey("customer.id", name="FK_order_customer", ondelete="CASCADE")
    )
    note: orm.Mapped[str | None] = orm.mapped_column(sa.UnicodeText)
    customer: orm.Mapped[Customer] = orm.relationship(back_populates="orders")


@check("first_connect")
def first_connect(_):
    with ENGINE.connect() as connection:
        assert connection.scalar(sa.select(sa.literal("ü"))) == "ü"
        assert ENGINE.dialect.server_version_info[0] == 16
        assert ENGINE.dialect.default_schema_name == "dbo"
    return f"SQLAlchemy {sa.__version__}: version, schema, isolation level"


@check("create_all")
def create_all(_):
    Base.metadata.create_all(ENGINE)
    Base.metadata.create_all(ENGINE)  # finds everything there
    with ENGINE.begin() as connection:
        connection.execute(
            sa.text(
                "CREATE VIEW dbo.active_customer AS"
                " SELECT id, name FROM dbo.customer WHERE active = 1"
            )
        )
    return "tables with identity, keys, index, check, defaults; a second time nothing"


@check("inspect")
def inspect(_):
    seen = sa.inspect(ENGINE)
    assert {"customer", "order", "rows", "types"} <= set(seen.get_table_names())
    assert seen.has_table("customer") and not seen.has_table("nothing")
    assert seen.has_table("customer", schema="dbo")
    assert "active_customer" in seen.get_view_names()
    assert "active = 1" in seen.get_view_definition("active_customer")
    assert "dbo" in seen.get_schema_names()
    columns = {column["name"]: column for column in seen.get_columns("customer")}
    assert list(columns) == ["id", "code", "name", "balance", "since", "picture", "active"]
    assert columns["id"]["identity"] == {"start": 10, "increment": 5}, columns["id"]
    assert isinstance(columns["code"]["type"], sa.NVARCHAR) and columns["code"]["type"].length == 20
    assert (columns["balance"]["type"].precision, columns["balance"]["type"].scale) == (18, 4)
    assert columns["balance"]["default"] and not columns["code"]["nullable"]
    assert seen.get_pk_constraint("customer")["constrained_columns"] == ["id"]
    (key,) = seen.get_foreign_keys("order")
    assert (key["name"], key["constrained_columns"], key["referred_table"]) == (
        "FK_order_customer",
        ["customer_id"],
        "customer",
    )
    assert key["options"].get("ondelete") == "CASCADE", key
    indexes = {index["name"]: index for index in seen.get_indexes("customer")}
    assert indexes["IX_customer_name"]["column_names"] == ["name"]
    assert indexes["IX_customer_name"]["dialect_options"]["mssql_include"] == ["code"]
    assert indexes["UQ_customer_code"]["unique"]
    return "tables, views, columns, identity, keys, foreign keys, indexes, has_table"


@check("autoload")
def autoload(_):
    metadata = sa.MetaData()
    metadata.reflect(ENGINE, only=["customer", "order", "types"])
    table = metadata.tables["order"]
    assert [key.target_fullname for key in table.foreign_keys] == ["customer.id"]
    assert len(metadata.tables["types"].columns) == 33
    again = sa.Table("customer", sa.MetaData(), autoload_with=ENGINE)
    assert again.primary_key.columns.keys() == ["id"]
    return "MetaData.reflect, autoload_with; all types known"


@check("orm")
def round_trip(_):
    moment = datetime.datetime(2024, 2, 29, 13, 14, 15)
    with orm.Session(ENGINE) as session:
        first = Customer(
            code="a",
            name="Grüße",
            since=moment,
            picture=b"\0\1\xff",
            orders=[Order(note="eins"), Order(note=None)],
        )
        session.add_all([first, Customer(code="b", balance=Decimal("1.5"))])
        session.commit()
        assert first.id == 10 and first.active is True
    with orm.Session(ENGINE) as session:
        found = session.scalars(
            sa.select(Customer).order_by(Customer.code).options(orm.selectinload(Customer.orders))
        ).all()
        assert [(c.code, c.balance) for c in found] == [("a", 0), ("b", Decimal("1.5"))]
        assert (found[0].since, found[0].picture) == (moment, b"\0\1\xff")
        assert [order.note for order in found[0].orders] == ["eins", None]
        found[0].name = "anders"
        session.delete(found[1])
        session.commit()
        page = sa.select(Customer.name).order_by(Customer.id).limit(5).offset(0)
        assert session.scalars(page).all() == ["anders"]
        session.delete(session.get(Customer, 10))
        session.commit()
        assert session.scalar(sa.select(sa.func.count()).select_from(Order)) == 0
    return "identity back by OUTPUT, relationships, update, delete, paging"


@check("many")
def many(_):
    table = Base.metadata.tables["customer"]
    rows = [{"code": f"m{n}", "name": f"Grüße {n}"} for n in range(500)]
    with ENGINE.begin() as connection:
        found = connection.execute(sa.insert(table).returning(table.c.id, table.c.code), rows).all()
        assert len(found) == 500
    if PYODBC:
        with engine(fast_executemany=True).begin() as connection:
            connection.execute(sa.insert(table), [{"code": f"f{n}"} for n in range(500)])
    with ENGINE.connect() as connection:
        stream = connection.execution_options(stream_results=True, max_row_buffer=50)
        codes = [row.code for row in stream.execute(sa.select(table.c.code))]
        assert len(codes) == (1000 if PYODBC else 500)
    with ENGINE.begin() as connection:
        connection.execute(sa.delete(table))
    return "insertmanyvalues of 500 rows" + (", fast_executemany" if PYODBC else "")


@check("errors")
def errors(_):
    with ENGINE.begin() as connection:
        connection.execute(sa.text("INSERT INTO dbo.rows (id) VALUES (70)"))
    for sql, kind in (
        ("INSERT INTO dbo.rows (id) VALUES (70)", sa.exc.IntegrityError),
        ("SELECT * FROM dbo.nothing", sa.exc.ProgrammingError),
    ):
        with ENGINE.connect() as connection:
            try:
                connection.execute(sa.text(sql))
            except kind:
                continue
            raise AssertionError(sql)
    with ENGINE.begin() as connection:
        connection.execute(sa.text("DELETE FROM dbo.rows WHERE id = 70"))
    return "IntegrityError, ProgrammingError"


@check("isolation")
def isolation(_):
    for level in (
        "READ UNCOMMITTED",
        "READ COMMITTED",
        "REPEATABLE READ",
        "SERIALIZABLE",
        "SNAPSHOT",
        "AUTOCOMMIT",
    ):
        with ENGINE.connect() as plain:
            connection = plain.execution_options(isolation_level=level)
            if level != "AUTOCOMMIT":
                assert connection.get_isolation_level() == level
            assert connection.scalar(sa.text("SELECT 1")) == 1
    with ENGINE.connect() as connection:
        assert connection.get_isolation_level() == "READ COMMITTED"
    return "5 levels and AUTOCOMMIT, back to the default in the pool"


@check("savepoints")
def savepoints(_):
    with ENGINE.begin() as connection:
        connection.execute(sa.text("INSERT INTO dbo.rows (id) VALUES (71)"))
        inner = connection.begin_nested()
        connection.execute(sa.text("INSERT INTO dbo.rows (id) VALUES (72)"))
        inner.rollback()
        with connection.begin_nested():
            connection.execute(sa.text("INSERT INTO dbo.rows (id) VALUES (73)"))
    with ENGINE.begin() as connection:
        found = connection.scalars(sa.text("SELECT id FROM dbo.rows WHERE id > 70 AND id < 80"))
        assert found.all() == [71, 73]
        connection.execute(sa.text("DELETE FROM dbo.rows WHERE id > 70 AND id < 80"))
    return "begin_nested"


@check("upsert")
def upsert(_):
    merge = sa.text(
        "MERGE dbo.rows WITH (HOLDLOCK) AS t USING (SELECT :id AS id, :v AS v) AS s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (id, v)"
        " VALUES (s.id, s.v) OUTPUT $action;"
    )
    with ENGINE.begin() as connection:
        found = [connection.scalar(merge, {"id": 74, "v": v}) for v in ("one", "two")]
        assert found == ["INSERT", "UPDATE"]
        assert connection.scalar(sa.text("SELECT v FROM dbo.rows WHERE id = 74")) == "two"
        connection.execute(sa.text("DELETE FROM dbo.rows WHERE id = 74"))
    return "MERGE as text, with OUTPUT $action"


@check("pool")
def pool(_):
    own = engine(pool_size=1, max_overflow=0, pool_pre_ping=True)
    with own.connect() as connection:
        first = connection.scalar(sa.text("SELECT @@SPID"))
        connection.execute(sa.text("INSERT INTO dbo.rows (id) VALUES (75)"))
    with own.connect() as connection:
        assert connection.scalar(sa.text("SELECT @@SPID")) == first
        assert connection.scalar(sa.text("SELECT COUNT(*) FROM dbo.rows WHERE id = 75")) == 0
    killer = ENGINE.connect().execution_options(isolation_level="AUTOCOMMIT")
    killer.execute(sa.text(f"KILL {first}"))
    with own.connect() as connection:  # pre_ping finds it dead and logs in again
        assert connection.scalar(sa.text("SELECT 1")) == 1
    killer.close()
    own.dispose()
    return "rolled back on return; a killed connection is replaced by pre_ping"


@check("drop_all")
def drop_all(_):
    with ENGINE.begin() as connection:
        connection.execute(sa.text("DROP VIEW dbo.active_customer"))
    fails(lambda: Base.metadata.tables["customer"].drop(ENGINE))
    Base.metadata.drop_all(ENGINE)
    assert not sa.inspect(ENGINE).has_table("customer")
    ENGINE.dispose()
    return "in the order of the foreign keys"


if __name__ == "__main__":
    import sys

    main(GIVEN, sys.argv[2] if len(sys.argv) > 2 else None)
