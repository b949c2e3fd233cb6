"""RSA keys, X.509 certificates and PVK files, the same bytes in every run.

Keys come from the instance's seed, never from the machine's randomness, so that signatures and
thumbprints can be compared between runs; they protect nothing and must not be used for anything
else. Sizes and algorithms: CREATE CERTIFICATE page (2048 bits, SHA2_256).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha1, sha256, shake_256
from math import gcd
from typing import Any

from redial_broker.engine.differences import differs
from redial_broker.engine.state import definition

BITS = 2048
EXPONENT = 65537
_PVK_MAGIC, _BLOB_MAGIC = 0xB0B5F11E, b"RSA2"
_PRIMES = [p for p in range(3, 8000, 2) if all(p % q for q in range(3, int(p**0.5) + 1, 2))]
_DIGEST_INFO = bytes.fromhex("3031300d060960864801650304020105000420")
"""ASN.1 in front of a SHA-256 digest in a PKCS #1 v1.5 signature (RFC 8017, 9.2)."""

differs(
    "keys and certificates",
    "Keys come from the instance's seed and are kept as they are: two runs make the same "
    "certificates, and nothing is protected by them. Passwords and master keys are checked.",
)


@definition()
@dataclass(frozen=True, slots=True)
class RsaKey:
    """A private key: modulus, exponents, primes."""

    n: int
    e: int
    d: int
    p: int
    q: int

    @property
    def size(self) -> int:
        """Bytes of the modulus."""
        return (self.n.bit_length() + 7) // 8


# ---------------------------------------------------------------------- making keys
@lru_cache(maxsize=256)
def make_key(seed: str, bits: int = BITS) -> RsaKey:
    """The RSA key of a seed."""
    p = _prime(f"{seed}/p", bits // 2)
    q = _prime(f"{seed}/q", bits // 2)
    return _key(p, q)


def _key(p: int, q: int, e: int = EXPONENT) -> RsaKey:
    phi = (p - 1) * (q - 1)
    return RsaKey(p * q, e, pow(e, -1, phi), max(p, q), min(p, q))


def _prime(seed: str, bits: int) -> int:
    """The first prime behind a number drawn from the seed, its two highest bits set."""
    start = int.from_bytes(shake_256(seed.encode()).digest(bits // 8), "big")
    start |= (3 << (bits - 2)) | 1
    remainders = [start % p for p in _PRIMES]
    step = 0
    while True:
        if all((r + step) % p for r, p in zip(remainders, _PRIMES)):
            candidate = start + step
            if gcd(candidate - 1, EXPONENT) == 1 and _is_prime(candidate):
                return candidate
        step += 2


def _is_prime(n: int) -> bool:
    """Miller-Rabin with fixed bases: certain enough for keys that protect nothing."""
    d, r = n - 1, 0
    while d % 2 == 0:
        d, r = d // 2, r + 1
    for base in (2, 3, 5, 7, 11):
        x = pow(base, d, n)
        if x in {1, n - 1}:
            continue
        for _ in range(r - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


# ---------------------------------------------------------------------- signing, encrypting
def sign(key: RsaKey, data: bytes) -> bytes:
    """RSASSA-PKCS1-v1_5 with SHA-256."""
    value = pow(int.from_bytes(_padded(data, key.size), "big"), key.d, key.n)
    return value.to_bytes(key.size, "big")


def verify(n: int, e: int, data: bytes, signature: bytes) -> bool:
    """Whether a signature is the one of these data."""
    size = (n.bit_length() + 7) // 8
    if len(signature) != size:
        return False
    return pow(int.from_bytes(signature, "big"), e, n).to_bytes(size, "big") == _padded(data, size)


def _padded(data: bytes, size: int) -> bytes:
    tail = _DIGEST_INFO + sha256(data).digest()
    return b"\x00\x01" + b"\xff" * (size - len(tail) - 3) + b"\x00" + tail


def encrypt(n: int, e: int, data: bytes, filler: str) -> bytes | None:
    """RSAES-PKCS1-v1_5; None when the data are too long. filler: seed of the padding."""
    size = (n.bit_length() + 7) // 8
    room = size - 3 - len(data)
    if room < 8:
        return None
    padding = bytes(b or 1 for b in shake_256(filler.encode()).digest(room))
    block = b"\x00\x02" + padding + b"\x00" + data
    return pow(int.from_bytes(block, "big"), e, n).to_bytes(size, "big")


def decrypt(key: RsaKey, data: bytes) -> bytes | None:
    """The opposite; None for what was not encrypted with this key."""
    if len(data) != key.size:
        return None
    block = pow(int.from_bytes(data, "big"), key.d, key.n).to_bytes(key.size, "big")
    end = block.find(b"\x00", 2)
    return block[end + 1 :] if block[:2] == b"\x00\x02" and end >= 10 else None


# ---------------------------------------------------------------------- certificates
def make_certificate(
    key: RsaKey, subject: str, start: datetime, end: datetime, serial: int
) -> bytes:
    """A self-signed certificate, DER."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import NameOID

    if not start.replace(tzinfo=UTC) < end.replace(tzinfo=UTC):
        return _backward(key, subject, start, end, serial)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject or " ", _validate=False)])
    private = _private(key)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(serial)
        .not_valid_before(start.replace(tzinfo=UTC))
        .not_valid_after(end.replace(tzinfo=UTC))
    )
    return built.sign(private, hashes.SHA256()).public_bytes(_der())


def _backward(key: RsaKey, subject: str, start: datetime, end: datetime, serial: int) -> bytes:
    """A certificate whose end is not after its start: a server makes one, the library does not.

    One that ends a year later is made, its end exchanged, and what was signed is signed again.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15

    later = start.replace(year=start.year + 1, day=min(start.day, 28))
    made = make_certificate(key, subject, start, later, serial)
    before, after = (f"{moment:%y%m%d%H%M%S}Z".encode() for moment in (later, end))
    signed = x509.load_der_x509_certificate(made).tbs_certificate_bytes
    changed = signed.replace(before, after)
    old = x509.load_der_x509_certificate(made).signature
    return made.replace(signed, changed).replace(
        old, _private(key).sign(changed, PKCS1v15(), hashes.SHA256())
    )


@lru_cache(maxsize=256)
def read_certificate(der: bytes) -> dict[str, Any] | None:
    """What the catalog shows of a certificate; None when the bytes are none with an RSA key.

    n, e, subject, issuer, serial (bytes, lowest first), start, end (UTC, naive), thumbprint.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    try:
        found = x509.load_der_x509_certificate(der)
    except ValueError:
        return None
    public = found.public_key()
    if not isinstance(public, RSAPublicKey):
        return None
    numbers = public.public_numbers()
    serial = found.serial_number
    return {
        "n": numbers.n,
        "e": numbers.e,
        "subject": _common_name(found.subject),
        "issuer": _common_name(found.issuer),
        "serial": serial.to_bytes((serial.bit_length() + 7) // 8 or 1, "big"),
        "start": found.not_valid_before_utc.replace(tzinfo=None),
        "end": found.not_valid_after_utc.replace(tzinfo=None),
        "thumbprint": sha1(der).digest(),
    }


def _common_name(name: Any) -> str:
    from cryptography.x509.oid import NameOID

    found = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[0].value) if len(name.rdns) == 1 and found else name.rfc4514_string()


def _private(key: RsaKey) -> Any:
    from cryptography.hazmat.primitives.asymmetric import rsa

    public = rsa.RSAPublicNumbers(key.e, key.n)
    return rsa.RSAPrivateNumbers(
        key.p, key.q, key.d, key.d % (key.p - 1), key.d % (key.q - 1), pow(key.q, -1, key.p), public
    ).private_key()


def _der() -> Any:
    from cryptography.hazmat.primitives.serialization import Encoding

    return Encoding.DER


# ---------------------------------------------------------------------- PVK files
def write_pvk(key: RsaKey, password: str, salt_seed: str) -> bytes:
    """A private key in PVK form (CERTPRIVATEKEY and BACKUP CERTIFICATE pages), encrypted."""
    half = key.size // 2
    blob = b"".join(
        (
            b"\x07\x02\x00\x00\x00\x24\x00\x00",
            _BLOB_MAGIC,
            _le(key.size * 8, 4),
            _le(key.e, 4),
            _le(key.n, key.size),
            _le(key.p, half),
            _le(key.q, half),
            _le(key.d % (key.p - 1), half),
            _le(key.d % (key.q - 1), half),
            _le(pow(key.q, -1, key.p), half),
            _le(key.d, key.size),
        )
    )
    salt = shake_256(salt_seed.encode()).digest(16)
    head = b"".join(_le(part, 4) for part in (_PVK_MAGIC, 0, 1, 1, len(salt), len(blob)))
    return head + salt + blob[:8] + _rc4(_pvk_key(salt, password), blob[8:])


def read_pvk(data: bytes, password: str | None) -> RsaKey | None:
    """The key in a PVK file; None when it is none or the password does not open it."""
    if len(data) < 24 or int.from_bytes(data[:4], "little") != _PVK_MAGIC:
        return None
    salt_length = int.from_bytes(data[16:20], "little")
    blob = data[24 + salt_length :]
    if int.from_bytes(data[12:16], "little"):
        if password is None:
            return None
        blob = blob[:8] + _rc4(_pvk_key(data[24 : 24 + salt_length], password), blob[8:])
    if blob[8:12] != _BLOB_MAGIC:
        return None
    size = int.from_bytes(blob[12:16], "little") // 8
    at = 20 + size
    p = int.from_bytes(blob[at : at + size // 2], "little")
    q = int.from_bytes(blob[at + size // 2 : at + size], "little")
    return _key(p, q, int.from_bytes(blob[16:20], "little")) if p and q else None


def _le(value: int, size: int) -> bytes:
    return value.to_bytes(size, "little")


def _pvk_key(salt: bytes, password: str) -> bytes:
    return sha1(salt + password.encode("utf-8")).digest()[:16]


def _rc4(key: bytes, data: bytes) -> bytes:
    """The cipher PVK files use; it hides, it does not protect."""
    box = list(range(256))
    j = 0
    for i in range(256):
        j = (j + box[i] + key[i % len(key)]) & 255
        box[i], box[j] = box[j], box[i]
    i = j = 0
    made = bytearray()
    for byte in data:
        i = (i + 1) & 255
        j = (j + box[i]) & 255
        box[i], box[j] = box[j], box[i]
        made.append(byte ^ box[(box[i] + box[j]) & 255])
    return bytes(made)
