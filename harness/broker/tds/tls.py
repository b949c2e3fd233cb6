"""TLS over memory buffers: inside PRELOGIN packets, or strict from the first byte (2.2.6.5, 3.2.5).

The certificate is made once per process and kept in memory: the server listens on the loopback
address only, and a file would be one more thing to expire, lock or leak.
"""

from __future__ import annotations

import ipaddress
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from harness.broker.tds.packets import ProtocolError

ALPN = "tds/8.0"
_READ_BYTES = 65536
_VALID_DAYS = 3650


class TlsContexts(NamedTuple):
    """Server contexts. pem: the certificate, for a client that wants to verify it."""

    encapsulated: ssl.SSLContext
    strict: ssl.SSLContext
    pem: bytes


def make_certificate() -> tuple[bytes, bytes]:
    """A self-signed certificate for localhost and its key, both PEM.

    ECDSA P-256: ODBC Driver 18 and Microsoft's JDBC driver take it, and both making it and the
    handshake are several times cheaper than with RSA.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    addresses = [
        x509.DNSName("localhost"),
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
    ]
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=_VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName(addresses), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return (
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )


def _context(path: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(path)
    return context


@lru_cache(maxsize=1)
def tls_contexts() -> TlsContexts:
    """The contexts of this process, made on first use."""
    certificate, key = make_certificate()
    with tempfile.TemporaryDirectory() as directory:  # ssl loads keys from files only
        path = Path(directory, "server.pem")
        path.touch(mode=0o600)
        path.write_bytes(key + certificate)
        encapsulated, strict = _context(path), _context(path)
    # TLS 1.3 sends session tickets after the handshake, where the client expects a TDS packet:
    # ODBC Driver 18 then hangs until its login timeout.
    encapsulated.maximum_version = ssl.TLSVersion.TLSv1_2
    strict.set_alpn_protocols([ALPN])
    return TlsContexts(encapsulated, strict, certificate)


class TlsChannel:
    """One TLS session, bytes in and bytes out. ProtocolError stands for every TLS failure.

    closed: the client said goodbye (close_notify).
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self.closed = False

    def handshake(self, data: bytes) -> tuple[bytes, bool]:
        """Feed handshake bytes; returns what to send and whether the handshake is complete."""
        self._incoming.write(data)
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return self._outgoing.read(), False
        except ssl.SSLError as error:
            raise ProtocolError(f"TLS handshake: {error.reason}") from None
        return self._outgoing.read(), True

    def decrypt(self, data: bytes) -> bytes:
        """Plain bytes of as many whole records as have arrived."""
        self._incoming.write(data)
        pieces = []
        while True:
            try:
                piece = self._tls.read(_READ_BYTES)
            except ssl.SSLWantReadError:
                break
            except ssl.SSLZeroReturnError:
                self.closed = True
                break
            except ssl.SSLError as error:
                raise ProtocolError(f"TLS: {error.reason}") from None
            if not piece:
                self.closed = True
                break
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def encrypt(self, data: bytes) -> bytes:
        """Records to send."""
        self._tls.write(data)
        return self._outgoing.read()
