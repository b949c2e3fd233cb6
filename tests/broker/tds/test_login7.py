import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redial_broker.tds import constants as c
from redial_broker.tds.login7 import decode_login, decode_password, encode_password
from redial_broker.tds.packets import ProtocolError

from .client import login_body


def test_the_fields_of_a_login_are_found():
    login = decode_login(login_body(user="ann", password="pß", database="redial", packet_size=8000))
    assert (login.user, login.password, login.database) == ("ann", "pß", "redial")
    assert (login.host, login.app, login.server, login.library) == (
        "host",
        "test",
        "server",
        "library",
    )
    assert (login.packet_size, login.client_pid, login.version) == (8000, 4711, c.TDS_7_4)


def test_the_password_never_shows_in_a_log():
    assert "secret" not in repr(decode_login(login_body(password="secret")))


def test_a_password_is_scrambled_as_the_specification_says():
    # 'a' is 61 00: nibbles swapped 16 00, then XOR A5.
    assert encode_password("a") == bytes([0x16 ^ 0xA5, 0x00 ^ 0xA5])


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=100))
def test_a_password_survives_the_round_trip(password):
    assert decode_password(encode_password(password)) == password


def test_features_are_listed_with_their_data():
    features = b"\x0a" + struct.pack("<I", 1) + b"\x01" + b"\x04" + struct.pack("<I", 0)
    assert decode_login(login_body(features=features)).features == {10: b"\x01", 4: b""}


@pytest.mark.parametrize(
    ("version", "supported", "answer"),
    [
        (0x71000001, False, 0x71000001),
        (0x72090002, True, 0x72090002),
        (0x74000004, True, 0x74000004),
        (0x75000001, True, 0x74000004),
        (0x08000000, True, 0x08000000),
    ],
)
def test_versions_compare_by_meaning_not_by_number(version, supported, answer):
    login = decode_login(login_body(version=version))
    assert (login.supported, login.answer_version) == (supported, answer)


def test_integrated_authentication_and_password_change_are_recognised():
    login = decode_login(login_body(flags2=0x83, flags3=0x01))
    assert login.integrated
    assert login.change_password


@given(st.data())
def test_a_login_cut_or_changed_anywhere_is_decoded_or_refused(data):
    body = bytearray(login_body(features=b"\x0a\x01\0\0\0\x01"))
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    size = data.draw(st.integers(0, len(body)))
    with contextlib.suppress(ProtocolError, ValueError):
        decode_login(bytes(body[:size]))


def test_a_length_that_does_not_match_is_refused():
    with pytest.raises(ProtocolError, match="LOGIN7 says"):
        decode_login(login_body() + b"x")
