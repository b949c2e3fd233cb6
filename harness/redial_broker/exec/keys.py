"""Master keys, certificates and asymmetric keys of a database, and who can use them."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha1, sha256
from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import SqlError
from redial_broker.engine.state import definition
from redial_broker.exec.crypto import RsaKey, read_certificate

if TYPE_CHECKING:
    from redial_broker.exec.database import Database
    from redial_broker.exec.session import SessionState

BY_MASTER_KEY, BY_PASSWORD, NO_PRIVATE_KEY = "MK", "PW", "NA"
PROTECTIONS = {
    BY_MASTER_KEY: "ENCRYPTED_BY_MASTER_KEY",
    BY_PASSWORD: "ENCRYPTED_BY_PASSWORD",
    NO_PRIVATE_KEY: "NO_PRIVATE_KEY",
}
"""pvt_key_encryption_type of sys.certificates and its description."""


@definition()
@dataclass(frozen=True, slots=True)
class MasterKey:
    """A database master key."""

    passwords: frozenset[bytes]
    """Digests of those that open it."""
    by_service: bool = True
    """The service master key opens it, so nobody has to."""


@definition()
@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate."""

    certificate_id: int
    name: str
    owner: int
    der: bytes
    key: RsaKey | None = None
    """Its private key or None."""
    password: bytes | None = None
    """Digest of the one that protects it."""
    active: bool = True
    """ACTIVE FOR BEGIN_DIALOG."""

    @property
    def facts(self) -> dict[str, Any]:
        """What the certificate says (``crypto.read_certificate``)."""
        return read_certificate(self.der) or {}

    @property
    def thumbprint(self) -> bytes:
        """SHA-1 of the certificate: the same in every database that has it."""
        return sha1(self.der).digest()

    @property
    def public(self) -> tuple[int, int]:
        """Modulus and exponent."""
        return self.facts["n"], self.facts["e"]

    @property
    def protection(self) -> str:
        """MK, PW or NA."""
        return protection(self)


@definition()
@dataclass(frozen=True, slots=True)
class AsymmetricKey:
    """An asymmetric key: a key pair without a certificate. Fields as of ``Certificate``."""

    key_id: int
    name: str
    owner: int
    n: int
    e: int
    key: RsaKey | None = None
    password: bytes | None = None

    @property
    def thumbprint(self) -> bytes:
        """A digest of the public key; 20 bytes here."""
        return sha1(self.n.to_bytes((self.n.bit_length() + 7) // 8, "big")).digest()

    @property
    def public(self) -> tuple[int, int]:
        """Modulus and exponent."""
        return self.n, self.e

    @property
    def protection(self) -> str:
        """MK, PW or NA."""
        return protection(self)


def protection(key: Certificate | AsymmetricKey) -> str:
    """How a private key is protected."""
    if key.key is None:
        return NO_PRIVATE_KEY
    return BY_MASTER_KEY if key.password is None else BY_PASSWORD


def digest(password: str) -> bytes:
    """What is kept of a key's password."""
    return sha256(password.encode("utf-16-le")).digest()


def master_key_open(session: SessionState, database: Database) -> bool:
    """Whether the session can use the master key: the service opens it, or the session has."""
    key = database.master_key
    return key is not None and (key.by_service or database.id in session.open_keys)


def need_master_key(session: SessionState, database: Database) -> None:
    """Raise SqlError 15581 unless the master key can be used."""
    if not master_key_open(session, database):
        raise SqlError(15581)


def private_key(
    session: SessionState,
    found: Certificate | AsymmetricKey,
    password: str | None,
    database: Database,
) -> RsaKey | None:
    """The private key, if there is one and the password is right; None otherwise.

    A key that the master key protects needs no password. Raises SqlError 15581 when the master key
    is closed.
    """
    if found.key is None:
        return None
    if found.password is None:
        need_master_key(session, database)
        return found.key
    if password is None or digest(password) != found.password:
        return None
    return found.key


def by_thumbprint(database: Database, thumbprint: bytes) -> Any:
    """The certificate or key of that thumbprint in a database; None when there is none."""
    return next(
        (k for k in database.keys.values() if getattr(k, "thumbprint", None) == thumbprint), None
    )


def by_id(database: Database, kind: str, number: int) -> Any:
    """The certificate or key with that id; None when there is none."""
    attribute = "certificate_id" if kind == "CERTIFICATE" else "key_id"
    return next(
        (
            k
            for (each, _), k in database.keys.items()
            if each == kind and getattr(k, attribute) == number
        ),
        None,
    )
