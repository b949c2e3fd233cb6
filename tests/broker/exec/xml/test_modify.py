"""XML DML: .modify() of a variable and of a column, and what its texts may not say."""

import pytest

from tests.broker.exec.lab import Lab


@pytest.fixture(scope="module")
def lab():
    return Lab()


def modified(lab, xml, *texts, before=""):
    steps = "".join(f"SET @x.modify('{text}');" for text in texts)
    return lab.value(f"DECLARE @x xml = '{xml}'; {before} {steps} SELECT @x")


@pytest.mark.parametrize(
    ("xml", "text", "expected"),
    [
        ("<r><a/></r>", "insert <b/> into (/r)[1]", "<r><a/><b/></r>"),
        ("<r><a/></r>", "insert <b/> as first into (/r)[1]", "<r><b/><a/></r>"),
        ("<r><a/></r>", "insert <b/> as last into (/r)[1]", "<r><a/><b/></r>"),
        ("<r><a/></r>", "insert <b/> before (/r/a)[1]", "<r><b/><a/></r>"),
        ("<r><a/></r>", "insert (<b/>, <c/>) after (/r/a)[1]", "<r><a/><b/><c/></r>"),
        ("<r/>", "insert <b/> after (/r)[1]", "<r/><b/>"),
        ("<r/>", 'insert text {"x"} into (/r)[1]', "<r>x</r>"),
        ("<r><b>1</b></r>", "insert /r/b into (/r)[1]", "<r><b>1</b><b>1</b></r>"),
        ("<r/>", "insert <b/> into (/z)[1]", "<r/>"),
        ('<a m="1" n="2"/>', "insert attribute z {9} into (/a)[1]", '<a m="1" z="9" n="2"/>'),
        (
            '<a m="1"/>',
            "insert (attribute z {9}, attribute y {8}) into (/a)[1]",
            '<a m="1" z="9" y="8"/>',
        ),
        ("<r><a/><b/></r>", "delete /r/a", "<r><b/></r>"),
        ("<r>x<a/>y</r>", "delete //a", "<r>xy</r>"),
        ('<r k="1"/>', "delete /r/@k", "<r/>"),
        ("<r/>", "delete /r", ""),
        ("<r/>", "delete /z", "<r/>"),
        ("<r>a</r>", "delete /r/text()", "<r/>"),
        ("<r><!--c--></r>", "delete //comment()", "<r/>"),
        ("<r>a</r>", 'replace value of (/r/text())[1] with "b"', "<r>b</r>"),
        ("<r>a</r>", "replace value of (/r/text())[1] with ()", "<r/>"),
        ('<r k="1"/>', "replace value of (/r/@k)[1] with (/r/@k)[1] + 1", '<r k="2"/>'),
        ('<r k="1"/>', 'replace value of (/r/@k)[1] with if (/r) then "y" else "n"', '<r k="y"/>'),
        ("<r>a</r>", 'replace value of (/z/text())[1] with "b"', "<r>a</r>"),
        ("<r><![CDATA[x<y]]></r>", "delete /z", "<r>x&lt;y</r>"),
        (
            '<p:r xmlns:p="u"/>',
            'declare namespace q="u"; insert <q:b/> into (/q:r)[1]',
            '<p:r xmlns:p="u"><q:b xmlns:q="u"/></p:r>',
        ),
        ('<r xmlns="u"/>', "insert <b/> into (/*)[1]", '<r xmlns="u"><b xmlns=""/></r>'),
    ],
)
def test_one_change(lab, xml, text, expected):
    assert modified(lab, xml, text) == expected


def test_sql_values_in_dml(lab):
    text = 'replace value of (/r/text())[1] with sql:variable("@v")'
    assert modified(lab, "<r>a</r>", text, before="DECLARE @v int = 7;") == "<r>7</r>"
    text = 'insert sql:variable("@v") into (/r)[1]'
    assert modified(lab, "<r/>", text, before="DECLARE @v xml = '<k/><l/>';") == "<r><k/><l/></r>"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("insert <b/> into /r/a", 2226),
        ('insert "b" into (/r)[1]', 2207),
        ("insert attribute k {1} before (/r/a)[1]", 2258),
        ("insert <b/> into (/r/@k)[1]", 2240),
        ("insert <b/> before (/r/@k)[1]", 2249),
        ('replace value of /r/a/text() with "x"', 2337),
        ('replace value of (/r/a)[1] with "x"', 2356),
        ("delete .", 2264),
        ("/r", 6305),
        ("", 6306),
        ("replace value of (/r/@k)[1] with <a/>", 9310),
        ("insert <b/> onto /r", 2248),
        ("insert <b/> as middle into /r", 2351),
        ("replace value of (/r/@k)[1]", 2205),
        ("insert attribute k {1} into (/r)[1]", 6308),
        ("replace value of (/r/@k)[1] with ()", 6320),
        ("replace value of (/r/a/text())[1] with /r/zz", 6325),
    ],
)
def test_what_dml_may_not_say(lab, text, number):
    xml = '<r k="1"><a>t</a></r>'
    assert lab.error(f"DECLARE @x xml = '{xml}'; SET @x.modify('{text}')") == number


def test_a_null_instance_cannot_be_changed(lab):
    assert lab.error("DECLARE @x xml; SET @x.modify('delete /a')") == 5302


def test_modify_is_no_value_and_value_is_no_change(lab):
    assert lab.error("DECLARE @x xml = '<a/>'; SELECT @x.modify('delete /a')") == 8137
    assert lab.error("DECLARE @x xml = '<a/>'; SET @x.value('(/a)[1]', 'int')") == 8113
    assert lab.error("DECLARE @x int; SET @x.modify('delete /a')") == 258


def test_a_column_is_changed_like_by_an_assignment():
    lab = Lab()
    lab.run(
        "CREATE TABLE t (id int PRIMARY KEY, x xml, n int); "
        "INSERT t VALUES (1, '<r/>', 0), (2, '<r><c/></r>', 0)"
    )
    lab.run(
        "BEGIN TRANSACTION; UPDATE t SET n = 5, "
        "x.modify('insert <d>{sql:column(\"id\")}</d> into (/r)[1]') WHERE id = 2"
    )
    assert lab.rows("SELECT CAST(x AS nvarchar(99)), n FROM t") == [
        ("<r/>", 0),
        ("<r><c/><d>2</d></r>", 5),
    ]
    lab.run("ROLLBACK")
    assert lab.rows("SELECT CAST(x AS nvarchar(99)), n FROM t")[1] == ("<r><c/></r>", 0)
    assert lab.error("UPDATE t SET x.modify('delete /r'), x = NULL") == 264
    assert lab.error("UPDATE t SET z.modify('delete /r')") == 207
    assert lab.error("UPDATE t SET n.modify('delete /r')") == 258


def test_an_error_names_the_column_as_from_wrote_its_table():
    lab = Lab()
    lab.run("CREATE TABLE t (x xml)")
    said = lab.send("SELECT q.x.value('/r', 'int') FROM dbo.t AS q").errors[0].text
    assert said.startswith("XQuery [dbo.t.x.value()]: 'value()' requires a singleton")
    said = lab.send("SELECT c.value('a', 'int') FROM t CROSS APPLY x.nodes('/r') n(c)")
    assert said.errors[0].text.startswith("XQuery [t.x.value()]: ")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("N'XX', 1, 2", "aXXdef"),
        ("N'XX', NULL, 0", "abcdefXX"),
        ("N'XX', 4, NULL", "abcdXX"),
        ("NULL, 2, NULL", "ab"),
        ("N'', 0, 3", "def"),
    ],
)
def test_write_splices_a_max_column(arguments, expected):
    lab = Lab()
    lab.run("CREATE TABLE t (m nvarchar(max)); INSERT t VALUES (N'abcdef')")
    lab.run(f"UPDATE t SET m.WRITE({arguments})")
    assert lab.value("SELECT m FROM t") == expected


def test_write_refuses_what_it_cannot_splice():
    lab = Lab()
    lab.run("CREATE TABLE t (m nvarchar(max), c varchar(9)); INSERT t VALUES (NULL, 'a')")
    assert lab.error("UPDATE t SET m.WRITE(N'x', 0, 0)") == 5302
    assert lab.error("UPDATE t SET c.WRITE('x', 0, 0)") == 258
    lab.run("UPDATE t SET m = N'ab'")
    assert lab.error("UPDATE t SET m.WRITE(N'x', 5, 0)") == 7116
