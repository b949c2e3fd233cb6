"""CAST to and from xml: what parses, what does not, and which error says so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redial_broker.engine.errors import BATCH, SqlError
from redial_broker.engine.types import NVARCHAR_MAX, VARBINARY_MAX, XML, nvarchar, varbinary
from redial_broker.exec.conversion import explicit_conversion
from redial_broker.exec.xml import is_well_formed

from ..evaluate import typed, value

ERROR_BODY = (
    '<?xml version="1.0"?><Error xmlns="http://schemas.microsoft.com/SQL/ServiceBroker/Error">'
    "<Code>-8425</Code><Description>The service contract &apos;DEFAULT&apos; is not found."
    "</Description></Error>"
)

from_text = explicit_conversion(NVARCHAR_MAX, XML)
from_bytes = explicit_conversion(VARBINARY_MAX, XML)


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("<a></a>", "<a/>"),
        ("<a> <b/> </a>", "<a><b/></a>"),
        ("<a>x <b/> y</a>",) * 2,
        ("<a/><b/>",) * 2,
        ("text",) * 2,
        ("",) * 2,
        ("<a x='1'/>", '<a x="1"/>'),
        ("<a><![CDATA[<&]]></a>", "<a>&lt;&amp;</a>"),
        ("<?xml version='1.0'?><a/>", "<a/>"),
        ("<a>&#233;&lt;</a>", "<a>é&lt;</a>"),
        ("<!--c--><a/>",) * 2,
        ("<a xml:space='preserve'> <b/></a>", '<a xml:space="preserve"> <b/></a>'),
        ("\ufeff<a/>", "<a/>"),
        ('<?xml version="1.0" encoding="utf-16"?><a/>', "<a/>"),
        ("<n:a xmlns:n='u'/>", '<n:a xmlns:n="u"/>'),
        ("a &gt; b",) * 2,
    ],
)
def test_text_that_is_content(text, stored):
    assert from_text(text) == stored


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("<a>", 9400),
        ("<a></b>", 9436),
        ("<a b='1' b='2'/>", 9437),
        ("<a b=1/>", 9413),
        ("<x:a/>", 9459),
        ("a\x01", 9420),
        ("<a>&nope;</a>", 9448),
        ("</a>", 9436),
        ('<?xml version="1.0" encoding="utf-8"?><a/>', 9402),
        ("<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>", 6359),
    ],
)
def test_text_that_is_not_ends_the_batch(text, number):
    with pytest.raises(SqlError) as caught:
        from_text(text)
    assert caught.value.number == number
    assert caught.value.aborts == BATCH


def test_a_parse_error_names_line_and_character():
    with pytest.raises(SqlError) as caught:
        from_text("<a>\n<b></c></a>")
    assert caught.value.text.startswith("XML parsing: line 2, character ")
    assert caught.value.text.endswith("end tag does not match start tag")


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe" + ERROR_BODY.encode("utf-16-le"),
        ERROR_BODY.encode("utf-16-le"),
        b"\xfe\xff" + ERROR_BODY.encode("utf-16-be"),
        ERROR_BODY.encode("utf-8"),
        b"\xef\xbb\xbf" + ERROR_BODY.encode("utf-8"),
    ],
)
def test_a_message_body_is_read_in_any_encoding(body):
    assert from_bytes(body).startswith('<Error xmlns="http://schemas.microsoft.com')
    assert is_well_formed(body)


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ('<?xml version="1.0" encoding="utf-8"?><a/>'.encode("utf-16-le"), 38),
        ('\ufeff<?xml version="1.0" encoding="utf-8"?><a/>'.encode("utf-16-le"), 38),
        ('\ufeff<?xml version="1.0" encoding="ascii"?><a/>'.encode("utf-16-be"), 38),
        (b'<?xml version="1.0" encoding="utf-16"?><a/>', 39),
        (b'\xef\xbb\xbf<?xml version="1.0" encoding="UTF-16"?><a/>', 39),
        (b'<?xml version="1.0"  encoding="utf-16"?><a/>', 40),
    ],
)
def test_bytes_that_are_not_as_they_say_cannot_be_read(body, at):
    """The parser looks at the stream alone ("Create instances of XML data"); so does validation."""
    with pytest.raises(SqlError) as caught:
        from_bytes(body)
    assert caught.value.number == 9402 and f"character {at}," in caught.value.text
    assert not is_well_formed(body)


def test_a_declared_single_byte_encoding_is_honoured():
    body = '<?xml version="1.0" encoding="iso-8859-1"?><a>é</a>'.encode("latin-1")
    assert from_bytes(body) == "<a>é</a>"


@pytest.mark.parametrize("body", [b"<a", b"\xff\xfe<", b"\x80\x81", b"<a>\xe9</a>"])
def test_a_malformed_body_is_not_well_formed(body):
    assert not is_well_formed(body)


def test_an_entity_file_is_never_read():
    text = "<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/hostname'>]><a>&e;</a>"
    assert not is_well_formed(text.encode())


@given(
    st.text(
        st.characters(
            codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"
        ),
        min_size=1,
        max_size=30,
    )
)
def test_any_text_survives_inside_an_element(text):
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    given_ = {"@x": (XML, from_text(f"<a>x{escaped}</a>"))}
    assert value("@x.value('(/a)[1]', 'nvarchar(max)')", given_) == "x" + text


def test_xml_becomes_bytes_with_a_mark_and_comes_back():
    raw = explicit_conversion(XML, VARBINARY_MAX)("<a>é</a>")
    assert raw == b"\xff\xfe" + "<a>é</a>".encode("utf-16-le")
    assert from_bytes(raw) == "<a>é</a>"


def test_xml_becomes_text_unless_it_does_not_fit():
    assert explicit_conversion(XML, nvarchar(4))("<a/>") == "<a/>"
    with pytest.raises(SqlError) as caught:
        explicit_conversion(XML, nvarchar(3))("<a/>")
    assert caught.value.number == 6354


def test_style_one_keeps_white_space():
    assert value("convert(xml, '<a> <b/></a>', 1)") == "<a> <b/></a>"
    assert value("convert(xml, '<a> <b/></a>')") == "<a><b/></a>"


def test_try_cast_of_malformed_text_is_null():
    assert value("try_cast(N'<a' as xml)") is None
    assert value("try_convert(xml, 0x3C61)") is None
    assert typed("try_cast('<a' as xml)") == "xml"


def test_bytes_implicitly_become_xml():
    from redial_broker.exec.conversion import compile_assignment_conversion

    assign = compile_assignment_conversion(varbinary(100), XML)
    assert assign(b"<a/>") == "<a/>"
    assert assign(None) is None
