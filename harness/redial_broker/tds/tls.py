"""TLS over memory buffers: inside PRELOGIN packets, or strict from the first byte (2.2.6.5, 3.2.5).

The certificate is made once and kept in the user's cache directory, readable by that user only; it
proves nothing but that the same user's broker answers on the loopback address.
"""

from __future__ import annotations

import logging
import ssl
import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from platformdirs import user_cache_dir

from redial_broker.tds.packets import ProtocolError

_LOG = logging.getLogger(__name__)

ALPN = "tds/8.0"
_READ_BYTES = 65536
_CERTIFICATE = b"-----BEGIN CERTIFICATE-----"
_KEEP_SECONDS = 365 * 86_400
"""A kept certificate is replaced after a year, long before it expires."""


class TlsContexts(NamedTuple):
    """Server contexts."""

    encapsulated: ssl.SSLContext
    strict: ssl.SSLContext
    pem: bytes
    """The certificate, for a client that wants to verify it."""


def _stored(path: Path) -> bytes | None:
    """Key and certificate made by an earlier run, None when there are none fit for use."""
    try:
        if time.time() - path.stat().st_mtime > _KEEP_SECONDS:
            return None
        return path.read_bytes()
    except OSError:
        return None


def _store(path: Path, pem: bytes) -> None:
    """Keep them for the next run; a cache that cannot be written is done without."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:  # mode 0600
            file.write(pem)
        Path(file.name).replace(path)
    except OSError as error:
        _LOG.debug("the certificate is not kept: %s", error)


def key_and_certificate(path: Path) -> bytes:
    """PEM of key and certificate: from ``path``, or new ones that are kept there."""
    pem = _stored(path)
    if pem is None or _CERTIFICATE not in pem:
        from redial_broker.tds.certificate import make_certificate

        certificate, key = make_certificate()
        pem = key + certificate
        _store(path, pem)
    return pem


def _context(path: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(path)
    return context


def make_contexts(pem: bytes) -> TlsContexts:
    """Contexts for a key and certificate; ssl.SSLError when they are damaged."""
    with tempfile.NamedTemporaryFile() as file:  # ssl loads keys from files only
        file.write(pem)
        file.flush()
        encapsulated, strict = _context(file.name), _context(file.name)
    # TLS 1.3 sends session tickets after the handshake, where the client expects a TDS packet:
    # ODBC Driver 18 then hangs until its login timeout.
    encapsulated.maximum_version = ssl.TLSVersion.TLSv1_2
    strict.set_alpn_protocols([ALPN])
    return TlsContexts(encapsulated, strict, pem[pem.index(_CERTIFICATE) :])


@lru_cache(maxsize=1)
def tls_contexts() -> TlsContexts:
    """The contexts of this process, made on first use."""
    path = Path(user_cache_dir("redial"), "tls", "server.pem")
    try:
        return make_contexts(key_and_certificate(path))
    except ssl.SSLError:
        path.unlink(missing_ok=True)
        return make_contexts(key_and_certificate(path))


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
