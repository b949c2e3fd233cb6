import pytest
from hypothesis import given
from hypothesis import strategies as st

from redial_broker.tds import prelogin
from redial_broker.tds.packets import ProtocolError


def test_the_answer_has_the_bytes_that_every_driver_took():
    assert prelogin.answer(prelogin.ENCRYPT_NOT_SUPPORTED) == bytes.fromhex(
        "00 001a 0006  01 0020 0001  02 0021 0001  03 0022 0000  04 0022 0001 ff"
        "10 00 10 04 00 00  02  00  00"
    )


def test_mars_is_refused():
    assert prelogin.decode_prelogin(prelogin.answer(1))[prelogin.MARS] == b"\0"


@pytest.mark.parametrize(("client", "server"), [(0, 0), (1, 1), (2, 2), (3, 1), (9, 2)])
def test_encryption_follows_the_client_and_is_never_forced_on_it(client, server):
    assert prelogin.server_encryption(client, tls_available=True) == server


@pytest.mark.parametrize("client", [0, 1, 2, 3])
def test_without_tls_the_answer_is_not_supported(client):
    assert prelogin.server_encryption(client, tls_available=False) == 2


def test_a_client_certificate_bit_does_not_hide_the_wish():
    assert prelogin.client_encryption({prelogin.ENCRYPTION: b"\x81"}) == 1


@pytest.mark.parametrize(
    "body", [b"", b"\0\0", b"\x01\x00\x06\x00\x01", b"\x01\x00\x06\x00\x09\xff", b"\0" * 400]
)
def test_a_broken_table_is_refused(body):
    with pytest.raises(ProtocolError):
        prelogin.decode_prelogin(body)


@given(st.dictionaries(st.integers(0, 200), st.binary(max_size=50), max_size=10))
def test_options_survive_the_round_trip(options):
    assert prelogin.decode_prelogin(prelogin.encode_prelogin(options)) == options
