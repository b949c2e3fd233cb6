"""Encryption as the drivers negotiate it, played with a TLS client in memory."""

import os
import ssl

import pytest
from cryptography import x509

from redial_broker.tds import constants as c
from redial_broker.tds.certificate import make_certificate
from redial_broker.tds.connection import Connection
from redial_broker.tds.packets import PacketReader, frame
from redial_broker.tds.tls import (
    TlsChannel,
    key_and_certificate,
    make_contexts,
    tls_contexts,
)

from .client import batch, login, parse, prelogin, replies
from .fake import FakeInstance


class TlsClient:
    """The client's TLS engine: ``wrap`` carries handshake bytes, inside packets or bare."""

    def __init__(self, connection, *, strict):
        self.connection = connection
        self.strict = strict
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=tls_contexts().pem.decode())
        if strict:
            context.set_alpn_protocols(["tds/8.0"])
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")

    def handshake(self):
        for _ in range(10):
            try:
                self.tls.do_handshake()
                done = True
            except ssl.SSLWantReadError:
                done = False
            data = self.outgoing.read()
            if data:
                self.connection.receive(data if self.strict else frame(c.PRELOGIN, data, 4096))
            answer = self.connection.take_output()
            self.incoming.write(answer if self.strict else b"".join(bodies(answer)))
            if done:
                return
        raise AssertionError("no end of the handshake")

    def send(self, data):
        self.tls.write(data)
        self.connection.receive(self.outgoing.read())

    def read(self):
        self.incoming.write(self.connection.take_output())
        out = b""
        while True:
            try:
                out += self.tls.read(65536)
            except ssl.SSLWantReadError:
                return out


def bodies(data):
    reader = PacketReader()
    reader.feed(data)
    while (message := reader.next()) is not None:
        assert message.kind == c.PRELOGIN
        yield message.body


@pytest.fixture
def instance():
    return FakeInstance()


@pytest.fixture
def connection(instance):
    return Connection(instance, tls_contexts())


def test_the_certificate_names_localhost_and_the_loopback_address():
    pem, _ = make_certificate()
    names = x509.load_pem_x509_certificate(pem).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    assert names.value.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(a) for a in names.value.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]


def test_the_certificate_is_kept_for_the_next_run_and_for_its_owner_only(tmp_path):
    path = tmp_path / "tls" / "server.pem"
    first = key_and_certificate(path)
    assert key_and_certificate(path) == first
    assert path.stat().st_mode & 0o077 == 0


def test_an_old_certificate_is_replaced(tmp_path):
    path = tmp_path / "server.pem"
    first = key_and_certificate(path)
    os.utime(path, (0, 0))
    assert key_and_certificate(path) != first


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path):
    (tmp_path / "file").touch()
    assert make_contexts(key_and_certificate(tmp_path / "file" / "server.pem"))


def test_a_damaged_certificate_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr("redial_broker.tds.tls.user_cache_dir", lambda _: tmp_path)
    path = tmp_path / "tls" / "server.pem"
    path.parent.mkdir()
    path.write_text("-----BEGIN CERTIFICATE-----\ndamaged")
    assert tls_contexts.__wrapped__()
    assert b"PRIVATE KEY" in path.read_bytes()


def test_the_contexts_are_made_once():
    assert tls_contexts() is tls_contexts()


def test_inside_prelogin_tls_stops_at_1_2_because_tickets_of_1_3_hang_odbc_18():
    assert tls_contexts().encapsulated.maximum_version == ssl.TLSVersion.TLSv1_2


def test_full_encryption_covers_login_and_requests(instance, connection):
    connection.receive(prelogin(encryption=1))
    connection.take_output()
    client = TlsClient(connection, strict=False)
    client.handshake()
    assert client.tls.version() == "TLSv1.2"
    client.send(login())
    assert connection.established
    assert client.read()[0] == c.REPLY
    client.send(batch("select 5"))
    instance.pump()
    (body,) = replies(client.read())
    assert b"\xd1\x05\0\0\0\xfd" in body


def test_login_only_encryption_ends_with_the_login(instance, connection):
    connection.receive(prelogin(encryption=0))
    connection.take_output()
    client = TlsClient(connection, strict=False)
    client.handshake()
    client.send(login())
    assert connection.established
    assert parse(replies(connection.take_output())[0])[0].kind == c.ENV_DATABASE
    connection.receive(batch("select 5"))
    instance.pump()
    assert b"\xd1\x05\0\0\0\xfd" in replies(connection.take_output())[0]


def test_strict_encryption_starts_with_tls_and_speaks_tds_8(instance, connection):
    client = TlsClient(connection, strict=True)
    client.handshake()
    assert client.tls.selected_alpn_protocol() == "tds/8.0"
    client.send(prelogin(encryption=2))
    assert replies(client.read())
    client.send(login(version=c.TDS_8_0))
    assert connection.established
    assert b"\x08\x00\x00\x00" in client.read()


def test_the_login_may_follow_the_last_handshake_bytes_in_the_same_piece(instance, connection):
    connection.receive(prelogin(encryption=1))
    connection.take_output()
    client = TlsClient(connection, strict=False)
    held = []
    client.connection = type(
        "Holding", (), {"receive": held.append, "take_output": connection.take_output}
    )()
    with pytest.raises(ssl.SSLWantReadError):
        client.tls.do_handshake()
    connection.receive(frame(c.PRELOGIN, client.outgoing.read(), 4096))
    client.incoming.write(b"".join(bodies(connection.take_output())))
    with pytest.raises(ssl.SSLWantReadError):
        client.tls.do_handshake()
    last = frame(c.PRELOGIN, client.outgoing.read(), 4096)
    connection.receive(last[:-3])
    assert not connection.established
    connection.receive(last[-3:])
    client.incoming.write(b"".join(bodies(connection.take_output())))
    client.tls.do_handshake()
    client.tls.write(login())
    connection.receive(client.outgoing.read())
    assert connection.established


@pytest.mark.parametrize("first", [b"\x16\x03\x01\x00\x05hello", b"\x16" * 50])
def test_broken_tls_closes_the_connection(connection, first):
    connection.receive(first)
    assert connection.closing


def test_clear_text_where_tls_was_agreed_closes_the_connection(connection):
    connection.receive(prelogin(encryption=1))
    connection.take_output()
    connection.receive(login())
    assert connection.closing
    assert not connection.established


def test_garbage_behind_the_handshake_closes_the_connection(connection):
    connection.receive(prelogin(encryption=1))
    connection.take_output()
    TlsClient(connection, strict=False).handshake()
    connection.receive(b"\x17\x03\x03\x00\x05garbage in clear")
    assert connection.closing


def test_a_goodbye_closes_the_connection(connection):
    connection.receive(prelogin(encryption=1))
    connection.take_output()
    client = TlsClient(connection, strict=False)
    client.handshake()
    with pytest.raises(ssl.SSLWantReadError):
        client.tls.unwrap()
    connection.receive(client.outgoing.read())
    assert connection.closing


def test_a_channel_reports_every_tls_failure_in_one_way():
    channel = TlsChannel(tls_contexts().strict)
    with pytest.raises(Exception, match="TLS handshake"):
        channel.handshake(b"x" * 100)
