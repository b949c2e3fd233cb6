"""Code and reason of an Error message are kept, whatever characters its text is made of."""

from __future__ import annotations

import pytest

from tests.product.combos.lab import Lab

from .hostile_bodies import config_of, good, installed

TEXTS = {
    "no text": "",
    "a control character": "a\x01b",
    "every control character": "".join(map(chr, range(1, 32))),
    "half a surrogate pair": "a\ud800b",
    "the other half first": "\udc00\ud800",
    "no character at all": "\ufffe\uffff",
    "three thousand": "x" * 2999 + "\x01",
    "marks of XML": "<Code>7</Code>\x01 & \"q\" 'a' ]]></Description>",
    "written twice": "&amp;lt;\x01",
    "plain": "plain",
}
CODES = (1, 2_147_483_647)


def units(text: str) -> str:
    """The text as T-SQL, unit by unit."""
    data = text.encode("utf-16-le", "surrogatepass")
    return f"CONVERT(nvarchar(3000), 0x{data.hex()})" if data else "N''"


def kept(lab: Lab, table: str) -> list[tuple]:
    return lab.rows(
        "SELECT Code, CONVERT(varbinary(max), Reason) FROM "
        f"{lab.own(table)} WHERE Reason IS NOT NULL OR Code <> 0;"
    )


@pytest.mark.parametrize("characters", ["as given", "reference"])
@pytest.mark.parametrize("bom", [True, False])
def test_code_and_reason_of_an_error_stand_in_the_dead_letter_and_in_the_log(characters, bom):
    with installed(config_of("spid"), error_text_characters=characters, error_body_bom=bom) as lab:
        moment = lab.instance.snapshot()
        for name, text in TEXTS.items():
            code = CODES[name == "plain"]
            caller = lab.caller()
            caller.send(good(0))
            (handle,) = lab.handles(0)
            lab.queue("target", "STATUS = OFF")
            caller.send(good(1))
            lab.run(
                f"DECLARE @why nvarchar(3000) = {units(text)}; "
                f"END CONVERSATION '{handle}' WITH ERROR = {code} DESCRIPTION = @why;"
            )
            lab.advance(5)
            found = text.encode("utf-16-le", "surrogatepass")
            if characters == "reference":  # kept as it came
                found = b"".join(map(referenced, text))
            wanted = [(code, found[:6000])]
            assert kept(lab, "DeadLetter") == wanted, name
            assert kept(lab, "ConversationLog") == wanted, name
            assert lab.errors() == [] and lab.handles(1) == []
            moment.restore()
        moment.release()


def referenced(character: str) -> bytes:
    """As it stands in an Error message that has references."""
    plain = character in "\t\n\r" or (character >= " " and not "\ud800" <= character <= "\udfff")
    if plain and character < "\ufffe":
        return character.encode("utf-16-le")
    return f"&#x{ord(character):X};".encode("utf-16-le")


ERROR = '<Error xmlns="http://schemas.microsoft.com/SQL/ServiceBroker/Error">{}</Error>'
BODIES = {
    "": (None, "Its body: 0x"),
    "<Code></Code><Description>why</Description>": (None, "why"),
    "<Code>-</Code><Description>why</Description>": (None, "why"),
    "<Code/><Description>why</Description>": (None, "why"),
    "<Description>why</Description>": (None, "why"),
    "<Description>why\x01</Description>": (None, "why\x01"),
    "<Code>5</Code>": (5, None),
    "<Code>5</Code><Description>\x01": (5, None),
    "</Code>\x01<Code>": (None, None),
    "</Description>\x01<Description>": (None, None),
    "<Code>-9615</Code><Description>why\x01</Description>": (-9615, "why\x01"),
}


def test_of_a_body_without_a_code_the_bytes_are_the_reason_and_nothing_is_doomed():
    with installed(config_of("spid")) as lab:
        for inner, (code, part) in BODIES.items():
            data = ERROR.format(inner).encode("utf-16-le") if inner else b""
            for body in {data, data[:-1]}:
                ((found, reason, state),) = lab.rows(
                    "DECLARE @c int = 7, @d nvarchar(3000) = N'old', @s int; BEGIN TRANSACTION; "
                    f"EXECUTE {lab.own('usp_ReadErrorBody')} 0x{body.hex()}, @c OUTPUT, @d OUTPUT; "
                    "SET @s = XACT_STATE(); COMMIT; SELECT @c, @d, @s;"
                )
                assert (found, state) == (code, 1), inner
                if code is None:
                    assert (f"0x{body[:1000].hex().upper()}" in reason) or not body, inner
                assert part is None or part in reason, inner
        long = f"0x{'41' * 5000}"
        ((code, length),) = lab.rows(
            "DECLARE @c int, @d nvarchar(3000); "
            f"EXECUTE {lab.own('usp_ReadErrorBody')} {long}, @c OUTPUT, @d OUTPUT; "
            "SELECT @c, LEN(@d);"
        )
        assert code is None and 2800 < length < 3000


def test_an_error_nobody_can_read_keeps_what_it_said_beside_every_message():
    """Nothing of the broker's makes one; but then nobody promises its form."""
    with installed(config_of("spid")) as lab:
        lab.queue("target", "STATUS = OFF")
        lab.caller().send(good(0), good(1))
        (handle,) = lab.handles(1)
        lab.run(
            "DECLARE @c int, @d nvarchar(3000); "
            f"EXECUTE {lab.own('usp_ReadErrorBody')} 0x0102, @c OUTPUT, @d OUTPUT; "
            f"EXECUTE {lab.own('usp_ResendPending')} '{handle}', @c, @d;"
        )
        rows = lab.rows(f"SELECT Body, Code, Reason FROM {lab.own('DeadLetter')};")
        assert [row[:2] for row in rows] == [(good(0), None), (good(1), None)]
        assert all(row[2].endswith("Its body: 0x0102") for row in rows)
