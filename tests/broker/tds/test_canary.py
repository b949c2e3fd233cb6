"""A canary on one connection is answered while a hostile client runs on another.

Nothing here asserts a time: in one turn of the scheduler, between two looks of the server at its
sockets, the meter may look a bounded number of times. What never looks would hang, and the socket's
own time-out ends the test.
"""

import socket

import pytest

from redial_broker.instance.instance import PASSWORD
from redial_broker.instance.lanes import SHARE
from redial_broker.tds import constants as c
from redial_broker.tds.embedded import EmbeddedBroker

from .client import Error, attention, batch, login, parse, prelogin, replies

HANG_SECONDS = 60
QUESTIONS = 4
LOOKS = SHARE + 2
"""Most looks of the meter in one turn: the share of what begins, a lane's one, one that ends."""


class Client:
    """A client that blocks on its socket."""

    def __init__(self, broker):
        self.socket = socket.create_connection(("127.0.0.1", broker.port), HANG_SECONDS)
        self.ask(prelogin())
        self.ask(login(password=PASSWORD))

    def send(self, data):
        self.socket.sendall(data)

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def reply(self):
        data = bytearray()
        while True:
            head = self._exactly(8)
            data += head + self._exactly(int.from_bytes(head[2:4], "big") - 8)
            if head[1] & c.EOM:
                return replies(bytes(data))[0]

    def ask(self, data):
        self.send(data)
        return self.reply()

    def answers(self):
        """Whether a small statement runs and ends well."""
        tokens = parse(self.ask(batch("declare @one int = 1")))
        return not any(isinstance(token, Error) for token in tokens)

    def close(self):
        self.socket.close()


@pytest.fixture(scope="module", params=["real", "virtual"])
def broker(request):
    with EmbeddedBroker(clock=request.param, tls=False) as started:
        setup = Client(started)
        for text in SETUP:
            tokens = parse(setup.ask(batch(text)))
            assert not [token for token in tokens if isinstance(token, Error)], text
        setup.close()
        started.turns = started.call(counted)
        yield started


@pytest.fixture
def hostile(broker):
    client = Client(broker)
    yield client
    client.close()


@pytest.fixture
def canary(broker):
    client = Client(broker)
    yield client
    client.close()


SETUP = [
    "create table dbo.t (id int not null primary key, a int not null, s nvarchar(200) not null)",
    "insert dbo.t select value, value % 7, replicate(N'x', 100) + cast(value as nvarchar(9))"
    " from generate_series(1, 3000)",
    "create table dbo.target (id int not null primary key, a bigint)",
    "create function dbo.endless() returns int as begin"
    " declare @i int = 0; while 1 = 1 set @i = @i + 1; return @i end",
    "create function dbo.rows() returns @r table (i int) as begin"
    " declare @i int = 0; while 1 = 1 begin set @i = @i + 1; delete @r; insert @r values (@i) end"
    " return end",
    "create procedure dbo.slow as select count(*) from dbo.t x, dbo.t y, dbo.t z"
    " where x.a + y.a + z.a < 0",
    "create view dbo.crossed as select x.id, y.a from dbo.t x cross join dbo.t y",
]

_NONE = "where x.a + y.a + z.a < 0"
_XML = (
    "declare @x xml = (select id as '@v', a as '@a' from dbo.t for xml path('r'), root('all'));"
    " select "
)
_SERIES = "generate_series(1, 100000000)"

HOSTILE = {
    "three-way cross join": f"select count(*) from dbo.t x, dbo.t y, dbo.t z {_NONE}",
    "cross join kept whole": "select x.s, y.s, z.s from dbo.t x, dbo.t y, dbo.t z",
    "left join without equality": "select count(*) from dbo.t x left join dbo.t y on x.id < y.id"
    " left join dbo.t z on y.id + z.id < x.a - 99",
    "full join without equality": "select count(*) from dbo.t x full join dbo.t y"
    " on x.id + y.id < 0 full join dbo.t z on z.a + y.id < x.id - 9",
    "join on a common value": "select count(*) from dbo.t x join dbo.t y on x.a = y.a"
    f" join dbo.t z on y.a = z.a {_NONE}",
    "cross apply": "select count(*) from dbo.t x cross apply (select y.id from dbo.t y"
    " where y.id + x.id > 0) y cross apply (select z.id from dbo.t z where z.id + y.id < 0) z",
    "outer apply": "select count(*) from dbo.t x outer apply (select top 1 y.id from dbo.t y"
    " join dbo.t z on y.a + z.a + x.a < 0 order by y.id) y",
    "view crossed with itself": "select count(*) from dbo.crossed x, dbo.crossed y"
    " where x.a + y.a < 0",
    "correlated EXISTS": "select count(*) from dbo.t x where exists (select 1 from dbo.t y, dbo.t z"
    " where y.id + z.id + x.id < 0)",
    "correlated scalar": "select sum((select count(*) from dbo.t y, dbo.t z"
    " where y.id + z.a < x.a - 9)) from dbo.t x",
    "NOT IN": "select count(*) from dbo.t x where x.id not in (select y.id + z.id + x.id from"
    " dbo.t y, dbo.t z)",
    "TOP over a cross join": f"select top 1 x.id from dbo.t x, dbo.t y, dbo.t z {_NONE}",
    "series": f"select count(*) from {_SERIES}",
    "series crossed": f"select count(*) from {_SERIES} x cross join {_SERIES} y",
    "series joined": "select count(*) from generate_series(1, 30000) x join"
    " generate_series(1, 30000) y on x.value < y.value",
    "recursive CTE": "with n as (select 1 i union all select i + 1 from n where i > 0)"
    " select max(i) from n option (maxrecursion 0)",
    "recursive CTE that doubles": "with n as (select 1 i union all select i + 1 from n"
    " cross join (values (1), (2)) v (x)) select max(i) from n option (maxrecursion 0)",
    "ORDER BY": "select value from generate_series(1, 3000000) order by value % 1000, value desc",
    "ORDER BY of a cross join": "select top 5 x.s from dbo.t x, dbo.t y order by x.s, y.s desc",
    "DISTINCT": "select distinct x.a + y.id from dbo.t x, dbo.t y, generate_series(1, 100)",
    "UNION": f"select x.id from dbo.t x, dbo.t y, dbo.t z union select value from {_SERIES}",
    "EXCEPT": "select x.id, y.id from dbo.t x, dbo.t y except select y.id, z.id"
    " from dbo.t y, dbo.t z, dbo.t w",
    "INTERSECT": "select x.id from dbo.t x intersect select z.id from dbo.t y, dbo.t z, dbo.t w",
    "GROUP BY": "select x.id + y.id, count(*), max(y.s) from dbo.t x, dbo.t y group by x.id + y.id",
    "CUBE": "select x.a, y.a, count(*) from dbo.t x, dbo.t y group by cube (x.a, y.a, x.id)",
    "COUNT DISTINCT": "select count(distinct x.id * y.id) from dbo.t x, dbo.t y",
    "STRING_AGG": "select string_agg(cast(x.s as nvarchar(max)), N',') from dbo.t x, dbo.t y",
    "ROW_NUMBER": "select row_number() over (partition by x.a order by y.id, x.id)"
    " from dbo.t x, dbo.t y",
    "a sliding frame": "select max(value) over (order by value rows between 5000 preceding"
    " and 5000 following) from generate_series(1, 100000)",
    "PERCENTILE_CONT": "select percentile_cont(0.5) within group (order by x.id)"
    " over (partition by y.a) from dbo.t x, dbo.t y",
    "PIVOT": "select * from (select x.id, y.a, y.id v from dbo.t x, dbo.t y) q"
    " pivot (sum(v) for a in ([0], [1], [2])) p",
    "scalar function without end": "select dbo.endless()",
    "scalar function per row": "select id from dbo.t where dbo.endless() = id",
    "table function without end": "select * from dbo.rows()",
    "loop without end": "declare @i int = 0; while 1 = 1 set @i = @i + 1",
    "loop of queries": "declare @n int; while 1 = 1 select @n = count(*) from dbo.t x, dbo.t y",
    "loop of caught errors": "while 1 = 1 begin try select 1 / 0 end try begin catch end catch",
    "procedure": "exec dbo.slow",
    "dynamic text": "exec sp_executesql N'exec dbo.slow'",
    "INSERT SELECT": "insert dbo.target select x.value + 0, 1 from generate_series(1, 2000000) x",
    "INSERT into a variable": "declare @v table (id int primary key); insert @v"
    " select value from generate_series(1, 2000000)",
    "SELECT INTO": "select x.id a, y.id b, z.id c into #made from dbo.t x, dbo.t y, dbo.t z",
    "UPDATE": "update x set a = (select count(*) from dbo.t y, dbo.t z where y.id + z.id < x.id - 9)"
    " from dbo.t x with (nolock) where x.id > 0",
    "DELETE": "delete dbo.target where exists (select 1 from dbo.t x, dbo.t y, dbo.t z"
    f" {_NONE}) or 1 = (select count(*) from dbo.t x, dbo.t y, dbo.t z {_NONE})",
    "MERGE": "merge dbo.target using (select x.id from dbo.t x, dbo.t y, dbo.t z"
    f" {_NONE}) s on s.id = target.id when not matched then insert (id) values (s.id);",
    "assignment": "declare @v int; select @v = x.id from dbo.t x, dbo.t y, dbo.t z",
    "a variable from a subquery": "declare @v int ="
    f" (select count(*) from dbo.t x, dbo.t y, dbo.t z {_NONE})",
    "IF": f"if exists (select 1 from dbo.t x, dbo.t y, dbo.t z {_NONE}) print 'so'",
    "cursor": "declare c cursor static for select x.id from dbo.t x, dbo.t y, dbo.t z; open c",
    "FOR XML": "select x.s from dbo.t x, dbo.t y for xml path('r'), type",
    "FOR JSON": "select x.s from dbo.t x, dbo.t y for json path",
    "a long answer": "select x.s from dbo.t x, generate_series(1, 200)",
    "FLWOR self-join": _XML + "@x.query('for $i in /all/r for $j in /all/r"
    " where $i/@v = $j/@v + 1 return <m/>')",
    "FLWOR three times": _XML + "@x.value('count(for $i in /all/r, $j in /all/r, $k in /all/r"
    " where $i/@v = \"x\" return $i)', 'int')",
    "FLWOR in order": _XML + "@x.query('for $i in /all/r, $j in /all/r order by $i/@a return $j')",
    "XPath predicate": _XML
    + "@x.value('count(/all/r[@v = /all/r/@a and @v = /all/r/@none])','int')",
    "XQuery some": _XML
    + "@x.exist('/all[some $i in r, $j in r, $k in r satisfies $i/@v = \"x\"]')",
    "XQuery descendants": _XML + "@x.value('count(//r[//r[//r/@v = \"x\"]])', 'int')",
    "nodes() crossed": _XML + "count(*) from @x.nodes('/all/r') a (n) cross join"
    " @x.nodes('/all/r') b (n) where a.n.value('@v', 'int') = b.n.value('@a', 'int') - 9",
    "modify": _XML[: -len(" select ")] + " set @x.modify('insert (for $i in /all/r, $j in /all/r"
    " return <m/>) into (/all)[1]')",
    "LIKE of many percents": "declare @t nvarchar(4000) = replicate(N'a', 4000), @p nvarchar(4000)"
    " = replicate(N'%a', 1900) + N'%b'; select count(*) from dbo.t x, dbo.t y where @t like @p",
    "LIKE of a very long text": "declare @t nvarchar(max) = replicate(cast(N'a' as nvarchar(max)),"
    " 20000000), @p nvarchar(4000) = N'%' + replicate(N'a', 3000) + N'b%'; select 1 where @t like @p",
    "PATINDEX": "declare @t nvarchar(4000) = replicate(N'a', 4000), @p nvarchar(4000) = N'%'"
    " + replicate(N'[ab]', 900) + N'c%'; select sum(patindex(@p, @t)) from dbo.t x, dbo.t y",
    "REPLACE that explodes": "declare @t nvarchar(max) = replicate(cast(N'a' as nvarchar(max)),"
    " 1000000); select len(replace(@t, N'a', @t))",
    "REPLICATE that explodes": "select len(replicate(cast(N'abc' as nvarchar(max)), 2000000000))",
    "a text that doubles": "declare @t nvarchar(max) = N'abc'; while 1 = 1 set @t = @t + @t",
    "CONCAT that doubles": "declare @t nvarchar(max) = N'abc'; while 1 = 1 set @t = concat(@t, @t)",
    "bytes that double": "declare @t varbinary(max) = 0xAB; while 1 = 1 set @t = @t + @t",
    "STRING_SPLIT": "declare @t nvarchar(max) = replicate(cast(N'a,' as nvarchar(max)), 1000000);"
    " select count(*) from string_split(@t, N',') x cross join string_split(@t, N',') y",
    "system views": "select count(*) from sys.all_columns x, sys.all_columns y, sys.all_columns z",
}


def counted(instance):
    """From now on the looks of each turn of the scheduler are listed."""
    pump, meter, turns = instance.pump, instance.engine.meter, []

    def turn(most):
        before = meter.looks
        more = pump(most)
        turns.append(meter.looks - before)
        return more

    instance.pump = turn
    return turns


@pytest.mark.sampled(every=3, meets=("name",))  # each statement, on one of the two clocks
@pytest.mark.parametrize("name", HOSTILE)
def test_a_canary_is_answered_beside_a_hostile_statement(broker, hostile, canary, name):
    hostile.send(batch(HOSTILE[name]))
    for _ in range(QUESTIONS):
        assert canary.answers()
    hostile.send(attention())
    _until_acknowledged(hostile)
    assert hostile.answers()
    assert max(broker.turns) <= LOOKS
    assert broker.defects == []


def _until_acknowledged(client):
    """Read what is still on its way, up to the answer to the attention: rows, then its DONE."""
    while not int.from_bytes(client.reply()[-12:-10], "little") & c.DONE_ATTN:
        pass
