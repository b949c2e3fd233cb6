"""Certificates, keys and signatures in the catalog, and the functions that use them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from redial_broker.catalog.functions import function
from redial_broker.catalog.views import view
from redial_broker.catalog.visibility import sees_definitions, visible
from redial_broker.engine.types import DATETIME, Variant, nvarchar, varbinary
from redial_broker.exec import crypto
from redial_broker.exec.database import Database
from redial_broker.exec.keys import (
    PROTECTIONS,
    AsymmetricKey,
    Certificate,
    by_id,
    by_thumbprint,
    private_key,
)
from redial_broker.exec.principals import certificate_sid, sid_text
from redial_broker.exec.security import has_permission

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

MASTER_KEY_ID = 101


def keys_of(session: SessionState, db: Database, kind: str) -> list[Any]:
    """The certificates or keys of a database that the reader may see, by id."""
    seen = visible(session, db)
    found = [key for (each, _), key in sorted(db.keys.items()) if each == kind and seen(key)]
    return sorted(found, key=lambda key: getattr(key, "certificate_id", None) or key.key_id)


def serial_text(serial: bytes) -> str:
    """A serial number as the catalog shows it: bytes in hexadecimal, the first sixteen."""
    return " ".join(f"{byte:02x}" for byte in serial[:16])


@view(
    "sys.certificates",
    """
name sysname
certificate_id int
principal_id int?
pvt_key_encryption_type char(2)
pvt_key_encryption_type_desc nvarchar(60)?
is_active_for_begin_dialog bit?
issuer_name nvarchar(442)?
cert_serial_number nvarchar(64)?
sid varbinary(85)?
string_sid nvarchar(128)?
subject nvarchar(4000)?
expiry_date datetime?
start_date datetime?
thumbprint varbinary(32)
attested_by nvarchar(260)? = None
pvt_key_last_backup_date datetime? = None
key_length int?""",
)
def certificates(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Certificates, as far as the reader may see them."""
    for c in keys_of(session, db, "CERTIFICATE"):
        facts, sid = c.facts, certificate_sid(c.thumbprint)
        yield (
            c.name,
            c.certificate_id,
            c.owner,
            c.protection,
            PROTECTIONS[c.protection],
            int(c.active),
            facts["issuer"],
            serial_text(facts["serial"]),
            sid,
            sid_text(sid),
            facts["subject"],
            facts["end"],
            facts["start"],
            c.thumbprint,
            facts["n"].bit_length(),
        )


@view(
    "sys.asymmetric_keys",
    """
name sysname
principal_id int?
asymmetric_key_id int
pvt_key_encryption_type char(2)
pvt_key_encryption_type_desc nvarchar(60)?
thumbprint varbinary(32)
algorithm char(2)
algorithm_desc nvarchar(60)?
key_length int
sid varbinary(85)?
string_sid nvarchar(128)?
public_key varbinary(max)?
attested_by nvarchar(260)? = None
provider_type nvarchar(120)? = None
cryptographic_provider_guid uniqueidentifier? = None
cryptographic_provider_algid sql_variant? = None""",
)
def asymmetric_keys(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Asymmetric keys, as far as the reader may see them."""
    codes = {512: "1R", 1024: "2R", 2048: "3R", 3072: "5R", 4096: "4R"}
    for k in keys_of(session, db, "ASYMMETRIC KEY"):
        sid, bits = certificate_sid(k.thumbprint), k.n.bit_length()
        yield (
            k.name,
            k.owner,
            k.key_id,
            k.protection,
            PROTECTIONS[k.protection],
            k.thumbprint,
            codes.get(bits, "3R"),
            f"RSA_{bits}",
            bits,
            sid,
            sid_text(sid),
            k.n.to_bytes((bits + 7) // 8, "big"),
        )


@view(
    "sys.symmetric_keys",
    """
name sysname
principal_id int?
symmetric_key_id int
key_length int = 256
key_algorithm char(2) = 'A3'
algorithm_desc nvarchar(60)? = 'AES_256'
create_date datetime
modify_date datetime
key_guid uniqueidentifier?
key_thumbprint sql_variant? = None
provider_type nvarchar(120)? = None
cryptographic_provider_guid uniqueidentifier? = None
cryptographic_provider_algid sql_variant? = None""",
)
def symmetric_keys(session: SessionState, db: Database) -> Iterable[RowValues]:
    """The database master key; other symmetric keys cannot be made."""
    if db.master_key is not None and sees_definitions(session, db):
        yield (
            "##MS_DatabaseMasterKey##",
            1,
            MASTER_KEY_ID,
            db.created,
            db.created,
            db.new_guid("master key"),
        )


@view(
    "sys.key_encryptions",
    """
key_id int
thumbprint varbinary(32)? = None
crypt_type char(4)
crypt_type_desc nvarchar(60)?
- crypt_property varbinary(max)?""",
)
def key_encryptions(session: SessionState, db: Database) -> Iterable[RowValues]:
    """How the master key is protected."""
    if db.master_key is None or not sees_definitions(session, db):
        return
    if db.master_key.by_service:
        yield MASTER_KEY_ID, "ESKM", "ENCRYPTION BY MASTER KEY"
    for _ in db.master_key.passwords:
        yield MASTER_KEY_ID, "ESKP", "ENCRYPTION BY PASSWORD"


@view(
    "sys.database_scoped_credentials",
    """
name sysname
credential_id int
principal_id int?
credential_identity nvarchar(4000)?
create_date datetime
modify_date datetime
target_type nvarchar(100)?
target_id int?""",
)
def database_scoped_credentials(session: SessionState, db: Database) -> Iterable[RowValues]:
    """None: CREATE DATABASE SCOPED CREDENTIAL is refused."""
    return ()


@view(
    "sys.crypt_properties",
    """
class tinyint = 1
class_desc nvarchar(60)? = 'OBJECT_OR_COLUMN'
major_id int
thumbprint varbinary(32)
crypt_type char(4)
crypt_type_desc nvarchar(60)?
crypt_property varbinary(max)""",
)
def crypt_properties(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Signatures of the modules the reader may see."""
    seen = visible(session, db)
    for number, marks in sorted(db.signatures.items()):
        item = db.object_by_id(number)
        if item is None or not seen(item):
            continue
        for thumbprint, counter, blob in marks:
            by_key = isinstance(by_thumbprint(db, thumbprint), AsymmetricKey)
            code = ("CPV" if counter else "SPV") + ("A" if by_key else "C")
            words = (
                ("COUNTERSIGNATURE" if counter else "SIGNATURE")
                + " BY "
                + ("ASYMMETRIC KEY" if by_key else "CERTIFICATE")
            )
            yield number, thumbprint, code, words, blob


# ---------------------------------------------------------------------- functions
@function("CERT_ID")
def cert_id(session: SessionState, name: str) -> int | None:
    """Id of a certificate of the current database."""
    found = session.database.keys.get(("CERTIFICATE", name.strip("[]").lower()))
    return (
        found.certificate_id
        if found is not None and visible(session, session.database)(found)
        else None
    )


@function("ASYMKEY_ID")
def asymkey_id(session: SessionState, name: str) -> int | None:
    """Id of an asymmetric key of the current database."""
    found = session.database.keys.get(("ASYMMETRIC KEY", name.strip("[]").lower()))
    return found.key_id if found is not None and visible(session, session.database)(found) else None


@function("CERTPROPERTY")
def cert_property(session: SessionState, number: int, name: str) -> Variant | None:
    """A property of a certificate."""
    found = _usable(session, "CERTIFICATE", number, "VIEW DEFINITION")
    if found is None:
        return None
    facts, sid = cast("Certificate", found).facts, certificate_sid(found.thumbprint)
    text = nvarchar(4000)
    return {
        "EXPIRY_DATE": Variant(DATETIME, facts["end"]),
        "START_DATE": Variant(DATETIME, facts["start"]),
        "ISSUER_NAME": Variant(text, facts["issuer"]),
        "SUBJECT": Variant(text, facts["subject"]),
        "CERT_SERIAL_NUMBER": Variant(text, serial_text(facts["serial"])),
        "SID": Variant(varbinary(85), sid),
        "STRING_SID": Variant(text, sid_text(sid)),
    }.get(name.upper())


def _usable(
    session: SessionState, kind: str, number: int, permission: str
) -> Certificate | AsymmetricKey | None:
    found = by_id(session.database, kind, number)
    return found if found is not None and has_permission(session, permission, found) else None


@function("CERTENCODED")
def cert_encoded(session: SessionState, number: int) -> bytes | None:
    """The certificate without its private key, DER."""
    found = by_id(session.database, "CERTIFICATE", number)
    return found.der if found is not None else None


@function("CERTPRIVATEKEY", optional=1)
def cert_private_key(
    session: SessionState, number: int, password: str, old: str | None = None
) -> bytes | None:
    """The private key in PVK form under a new password; NULL without CONTROL or the old one."""
    found = _usable(session, "CERTIFICATE", number, "CONTROL")
    if found is None:
        return None
    key = private_key(session, found, old, session.database)
    return crypto.write_pvk(key, password, f"{found.name}/{password}") if key else None


@function("IS_OBJECTSIGNED")
def is_object_signed(
    session: SessionState, class_: str, number: int, kind: str, thumbprint: bytes
) -> int | None:
    """Whether an object is signed by a certificate or key of that thumbprint."""
    if class_.upper() != "OBJECT":
        return None
    return int(
        any(mark == thumbprint for mark, _, _ in session.database.signatures.get(number, ()))
    )


def _register(kind: str, suffix: str) -> None:
    """SIGNBY.., VERIFYSIGNEDBY.., ENCRYPTBY.. and DECRYPTBY.. of certificates or keys."""

    @function(f"SIGNBY{suffix}", optional=1)
    def sign(
        session: SessionState, number: int, data: bytes, password: str | None = None
    ) -> bytes | None:
        found = _usable(session, kind, number, "CONTROL")
        key = private_key(session, found, password, session.database) if found is not None else None
        return crypto.sign(key, data) if key else None

    @function(f"VERIFYSIGNEDBY{suffix}")
    def verify(session: SessionState, number: int, data: bytes, signature: bytes) -> int | None:
        found = _usable(session, kind, number, "VIEW DEFINITION")
        return int(crypto.verify(*found.public, data, signature)) if found is not None else None

    @function(f"ENCRYPTBY{suffix}")
    def encrypt(session: SessionState, number: int, data: bytes) -> bytes | None:
        found = _usable(session, kind, number, "VIEW DEFINITION")
        return (
            crypto.encrypt(*found.public, data, session.new_guid()) if found is not None else None
        )

    @function(f"DECRYPTBY{suffix}", optional=1)
    def decrypt(
        session: SessionState, number: int, data: bytes, password: str | None = None
    ) -> bytes | None:
        found = _usable(session, kind, number, "CONTROL")
        key = private_key(session, found, password, session.database) if found is not None else None
        return crypto.decrypt(key, data) if key else None


_register("CERTIFICATE", "CERT")
_register("ASYMMETRIC KEY", "ASYMKEY")
