import pytest
from hypothesis import given
from hypothesis import strategies as st

from redial_broker.tds import constants as c
from redial_broker.tds.packets import Incoming, PacketReader, ProtocolError, frame


def read_all(data, limit=1 << 20):
    reader = PacketReader(limit)
    reader.feed(data)
    out = []
    while (message := reader.next()) is not None:
        out.append(message)
    return out


def test_a_packet_has_the_header_of_the_specification():
    assert frame(4, b"abc", 4096, 0x33) == bytes.fromhex("04 01 000b 0033 01 00") + b"abc"


def test_an_empty_message_is_one_packet_with_eom():
    assert frame(6, b"", 4096) == bytes.fromhex("06 01 0008 0000 01 00")


def test_a_long_message_is_cut_at_the_packet_size_and_only_the_last_packet_has_eom():
    data = frame(4, bytes(1000), 512)
    assert len(data) == 1000 + 2 * 8
    assert data[:8] == bytes.fromhex("04 00 0200 0000 01 00")
    assert data[512:520] == bytes.fromhex("04 01 01f8 0000 02 00")


def test_a_body_of_exactly_one_packet_needs_no_second_one():
    assert len(frame(4, bytes(504), 512)) == 512


def test_the_packet_id_wraps_after_255():
    data = frame(4, bytes(504 * 257), 512)
    assert [data[at + 6] for at in (0, 254 * 512, 255 * 512)] == [1, 255, 0]


@given(
    st.lists(st.tuples(st.sampled_from([1, 3, 14]), st.binary(max_size=1500)), max_size=4),
    st.data(),
)
def test_any_split_of_the_stream_gives_the_same_messages(messages, data):
    stream = b"".join(frame(kind, body, 512) for kind, body in messages)
    reader = PacketReader(1 << 20)
    out = []
    at = 0
    while at < len(stream):
        step = data.draw(st.integers(1, 700))
        reader.feed(stream[at : at + step])
        at += step
        while (message := reader.next()) is not None:
            out.append((message.kind, message.body))
    assert out == messages
    assert reader.rest() == b""


@pytest.mark.parametrize("length", [0, 7, 32768, 65535])
def test_a_length_no_packet_can_have_is_refused(length):
    with pytest.raises(ProtocolError, match="packet length"):
        read_all(bytes([1, 1, length >> 8, length & 255, 0, 0, 1, 0]) + bytes(64))


def test_a_message_above_the_limit_is_refused_before_it_is_complete():
    with pytest.raises(ProtocolError, match="more than 600 bytes"):
        read_all(frame(1, bytes(5000), 512)[:1100], limit=600)


def test_a_flood_of_empty_packets_ends(monkeypatch):
    monkeypatch.setattr(c, "MESSAGE_MAX_PACKETS", 10)
    with pytest.raises(ProtocolError, match="more than 10 packets"):
        read_all(bytes.fromhex("0100000800000100") * 12)


def test_another_type_inside_a_message_is_refused():
    with pytest.raises(ProtocolError, match="inside a message"):
        read_all(bytes.fromhex("0100000800000100 0301000800000100"))


def test_a_withdrawn_message_has_no_body():
    first = frame(1, bytes(504), 512, last=False)
    last = bytes.fromhex("01 03 000a 0000 02 00 ffff")
    assert read_all(first + last) == [Incoming(1, 0, b"", True)]


def test_the_status_of_a_message_is_that_of_its_first_packet():
    data = bytearray(frame(1, bytes(600), 512))
    data[1] |= c.RESET
    data[512 + 1] |= c.RESET_KEEP_TRANSACTION
    assert read_all(bytes(data))[0].status == c.RESET


def test_single_mode_hands_out_packets_and_the_rest_is_left_alone():
    reader = PacketReader()
    reader.single = True
    reader.feed(bytes.fromhex("12 00 0009 0000 01 00 aa") + b"raw tls")
    assert reader.next() == Incoming(0x12, 0, b"\xaa")
    assert reader.rest() == b"raw tls"
