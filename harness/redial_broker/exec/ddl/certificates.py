"""CREATE, ALTER, BACKUP and DROP CERTIFICATE and ASYMMETRIC KEY (their pages).

What a statement does not name is as documented: a self-signed certificate is valid for a year from
now, its private key is protected by the database master key. Symmetric keys, assemblies, executable
files and providers are refused by name.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.journal import MISSING
from redial_broker.engine.types import DATETIME, NVARCHAR_MAX
from redial_broker.exec import crypto
from redial_broker.exec.calls import converted
from redial_broker.exec.context import Context
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.drop import drops
from redial_broker.exec.ddl.files import read_file, write_file
from redial_broker.exec.ddl.logins import check_password
from redial_broker.exec.ddl.naming import check_length
from redial_broker.exec.ddl.options import word
from redial_broker.exec.ddl.principals import find_owner
from redial_broker.exec.keys import (
    AsymmetricKey,
    Certificate,
    by_thumbprint,
    digest,
    need_master_key,
    private_key,
)
from redial_broker.exec.principals import USER, certificate_sid
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.security import ASYMMETRIC_KEY, CERTIFICATE, has_permission

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.principals import Principal
    from redial_broker.exec.session import SessionState

RSA_SIZES = {"RSA_512": 512, "RSA_1024": 1024, "RSA_2048": 2048, "RSA_3072": 3072, "RSA_4096": 4096}


# ---------------------------------------------------------------------- options
def read_options(options: list[ast.Option], context: Context) -> dict[str, Any]:
    """Options by name: text, bytes of a BINARY, and a dict for PRIVATE KEY."""
    found: dict[str, Any] = {}
    for option in options:
        if option.name == "EXECUTABLE FILE":
            raise context.not_supported(option, "a certificate from an executable file")
        if option.name == "PRIVATE KEY":
            found[option.name] = read_options(option.arguments or [], context)
        elif option.name == "BINARY":
            found[option.name] = option.value.value
        else:
            found[option.name] = word(option.value)
    return found


def may_create(session: SessionState, permission: str) -> None:
    """Raise SqlError 262 without the permission on the database."""
    if not has_permission(session, permission, session.database):
        raise SqlError(262, permission, session.database.name)


def owner_of(session: SessionState, owner: ast.Identifier | None, what: str) -> int:
    """Principal id of the owner: a user, never a role. Raises SqlError 15345, 15151."""
    if owner is None:
        return session.user.id if session.user is not None else 1
    number = find_owner(session.database, owner.text)
    if cast("Principal", session.database.principal(number)).type != USER:
        raise SqlError(15345, what)
    return number


def key_seed(session: SessionState, number: int) -> str:
    """Where a new key comes from: the instance's seed, the database and the key's number."""
    return f"{session.engine.seed}/{session.database.name.lower()}/{number}"


def protector(session: SessionState, options: dict[str, Any]) -> bytes | None:
    """Digest of the password that protects a private key; None for the master key.

    Raises SqlError 15581 without a master key to use, 15116 and 15118 for a weak password.
    """
    password = options.get("ENCRYPTION BY PASSWORD")
    if password is None:
        need_master_key(session, session.database)
        return None
    check_password("", password)
    return digest(password)


def put_key(session: SessionState, kind: str, name: str, key: Any) -> None:
    """Write a certificate or key; None takes it out."""
    database: Database = session.database
    session.engine.journal.put(
        session.work(),
        database,
        database.keys,
        (kind, name.lower()),
        MISSING if key is None else key,
    )
    database.bump(session.work())
    if database.broker is not None:
        database.broker.note(session.work(), ("ssb.altered", database.broker))


# ---------------------------------------------------------------------- CREATE
@compiles(ast.CreateCertificate)
def create_certificate(node: ast.CreateCertificate, context: Context) -> Run:
    """CREATE CERTIFICATE: self-signed, or from a file or bytes. Raises SqlError 15232 ..."""
    options = read_options(node.options, context)
    name = node.name.text

    def run(session: SessionState, variables: Values) -> None:
        check_length(name)
        may_create(session, "CREATE CERTIFICATE")
        if ("CERTIFICATE", name.lower()) in session.database.keys:
            raise SqlError(15232, name)
        owner = owner_of(session, node.owner, "certificate")
        number = session.database.next_number("next_key")
        active = options.get("ACTIVE FOR BEGIN_DIALOG", "ON").upper() == "ON"
        key: crypto.RsaKey | None
        if "SUBJECT" in options:
            own = crypto.make_key(key_seed(session, number))
            key, password = own, protector(session, options)
            der = self_signed(session, own, options, number)
            warn_of_dates(session, der)
        else:
            der, key, password = imported(session, options)
        made = Certificate(number, name, owner, der, key, password, active)
        if by_thumbprint(session.database, made.thumbprint) is not None:
            raise SqlError(15232, name)
        put_key(session, "CERTIFICATE", name, made)

    return run


def self_signed(
    session: SessionState, key: crypto.RsaKey, options: dict[str, Any], number: int
) -> bytes:
    """A certificate of its own key, valid for a year unless dates are given (UTC)."""
    start = moment(options.get("START_DATE")) or session.now().replace(microsecond=0)
    end = moment(options.get("EXPIRY_DATE"))
    if end is None:
        day = 28 if (start.month, start.day) == (2, 29) else start.day
        end = start.replace(year=start.year + 1, day=day)
    if not all(1950 <= year < 2050 for year in (start.year, end.year)) and end <= start:
        raise NotSupported(f"a certificate from {start:%Y-%m-%d} to {end:%Y-%m-%d}")
    if start.year < 1950:
        raise NotSupported(f"a certificate from {start:%Y-%m-%d}")
    seed = f"{key_seed(session, number)}/{options['SUBJECT']}"
    serial = int.from_bytes(blake2b(seed.encode(), digest_size=15).digest(), "big") | 1
    return crypto.make_certificate(key, options["SUBJECT"], start, end, serial)


def warn_of_dates(session: SessionState, der: bytes) -> None:
    """15213 to 15215: dates no certificate is good for; it is made all the same."""
    facts = crypto.read_certificate(der)
    assert facts is not None
    now = session.now()
    for number, odd in (
        (15213, facts["end"] < facts["start"]),
        (15214, facts["end"] < now),
        (15215, facts["start"] > now),
    ):
        if odd:
            warning = SqlError(number)
            session.info(warning.text, warning.severity, number)


def moment(text: str | None) -> datetime | None:
    """A date option: anything that converts to a date and time. Raises SqlError 241."""
    return None if text is None else converted(text, NVARCHAR_MAX, DATETIME)


def imported(
    session: SessionState, options: dict[str, Any]
) -> tuple[bytes, crypto.RsaKey | None, bytes | None]:
    """(certificate, private key or None, its password) from a file or bytes.

    Raises SqlError 15208, 15297, 15465 for a wrong password, 15474 for another key's.
    """
    der = options["BINARY"] if "BINARY" in options else read_file(session, options["FILE"])
    facts = crypto.read_certificate(bytes(der))
    if facts is None:
        raise SqlError(15297 if "BINARY" in options else 15208)
    private = options.get("PRIVATE KEY")
    if private is None:
        return bytes(der), None, None
    key = read_private(session, private)
    if key.n != facts["n"]:
        raise SqlError(15474, "certificate")
    return bytes(der), key, protector(session, private)


def read_private(session: SessionState, private: dict[str, Any]) -> crypto.RsaKey:
    """A private key out of PRIVATE KEY (FILE | BINARY, DECRYPTION BY PASSWORD)."""
    data = private["BINARY"] if "BINARY" in private else read_file(session, private["FILE"])
    key = crypto.read_pvk(bytes(data), private.get("DECRYPTION BY PASSWORD"))
    if key is None:
        raise SqlError(15465 if "DECRYPTION BY PASSWORD" in private else 15297)
    return key


@compiles(ast.CreateKey)
def create_key(node: ast.CreateKey, context: Context) -> Run:
    """CREATE ASYMMETRIC KEY name WITH ALGORITHM = RSA_2048; symmetric keys are refused by name."""
    if node.symmetric:
        raise context.not_supported(node, "CREATE SYMMETRIC KEY")
    options = read_options(node.options, context)
    algorithm = options.get("ALGORITHM", "").upper()
    if algorithm not in RSA_SIZES:
        raise context.not_supported(node, "an asymmetric key that is not made here")
    name = node.name.text

    def run(session: SessionState, variables: Values) -> None:
        check_length(name)
        may_create(session, "CREATE ASYMMETRIC KEY")
        if ("ASYMMETRIC KEY", name.lower()) in session.database.keys:
            raise SqlError(15282, name)
        owner = owner_of(session, node.owner, "asymmetric key")
        number = session.database.next_number("next_key")
        key = crypto.make_key(key_seed(session, number), RSA_SIZES[algorithm])
        put_key(
            session,
            "ASYMMETRIC KEY",
            name,
            AsymmetricKey(number, name, owner, key.n, key.e, key, protector(session, options)),
        )

    return run


@compiles(ast.OpenKey)
def open_key(node: ast.OpenKey, context: Context) -> Run:
    """OPEN and CLOSE SYMMETRIC KEY: there are none; CLOSE ALL has nothing to do."""
    if node.name is not None:
        raise context.not_supported(node, "symmetric keys")
    return lambda session, variables: None


# ---------------------------------------------------------------------- ALTER, BACKUP
def find_certificate(session: SessionState, name: str, verb: str, permission: str) -> Certificate:
    """A certificate the session has a permission on. Raises SqlError 15151."""
    found = session.database.keys.get(("CERTIFICATE", name.lower()))
    if found is None or not has_permission(session, permission, found):
        raise SqlError(15151, verb, "certificate", name)
    return cast("Certificate", found)


@compiles(ast.AlterCertificate)
def alter_certificate(node: ast.AlterCertificate, context: Context) -> Run:
    """ALTER CERTIFICATE: another password, a private key, none any more, or ACTIVE FOR DIALOG."""
    options = read_options(node.options, context)

    def run(session: SessionState, variables: Values) -> None:
        found = find_certificate(session, node.name.text, "alter", "ALTER")
        if "REMOVE PRIVATE KEY" in options:
            if found.key is None:
                raise SqlError(15556, "certificate")
            changed = replace(found, key=None, password=None)
        elif "ACTIVE FOR BEGIN_DIALOG" in options:
            active = options["ACTIVE FOR BEGIN_DIALOG"].upper() == "ON"
            changed = replace(found, active=active)
        else:
            changed = with_private_key(session, found, options["PRIVATE KEY"])
        put_key(session, "CERTIFICATE", found.name, changed)

    return run


def with_private_key(
    session: SessionState, found: Certificate, private: dict[str, Any]
) -> Certificate:
    """WITH PRIVATE KEY (..): from a file or bytes, or the one it has under another protection."""
    key: crypto.RsaKey | None
    if "FILE" in private or "BINARY" in private:
        key = read_private(session, private)
        if key.n != found.facts["n"]:
            raise SqlError(15474, "certificate")
    else:
        if found.key is None:
            raise SqlError(15556, "certificate")
        key = private_key(session, found, private.get("DECRYPTION BY PASSWORD"), session.database)
        if key is None:
            raise SqlError(15465)
    return replace(found, key=key, password=protector(session, private))


@compiles(ast.BackupCertificate)
def backup_certificate(node: ast.BackupCertificate, context: Context) -> Run:
    """BACKUP CERTIFICATE name TO FILE = '..' [WITH PRIVATE KEY (FILE = '..', ENCRYPTION ..)]."""
    options = read_options(node.options, context)
    path = word(node.file)

    def run(session: SessionState, variables: Values) -> None:
        found = find_certificate(session, node.name.text, "find", "VIEW DEFINITION")
        private = options.get("PRIVATE KEY")
        if private is not None:
            if not has_permission(session, "CONTROL", found):
                raise SqlError(15151, "find", "certificate", found.name)
            if found.key is None:
                raise SqlError(15246, found.name)
            key = private_key(
                session, found, private.get("DECRYPTION BY PASSWORD"), session.database
            )
            if key is None:
                raise SqlError(15465)
            password = private["ENCRYPTION BY PASSWORD"]
            check_password("", password)
            write_file(session, private["FILE"], crypto.write_pvk(key, password, private["FILE"]))
        write_file(session, path, found.der)

    return run


# ---------------------------------------------------------------------- DROP
def _drop(session: SessionState, kind: str, class_: int, name: ast.ObjectName) -> None:
    word_ = kind.lower()
    found = session.database.keys.get((kind, name.name.lower()))
    if found is None or not has_permission(session, "CONTROL", found):
        raise SqlError(15151, "drop", word_, name.name)
    sid = certificate_sid(found.thumbprint)
    if any(user.sid == sid for user in session.database.principals.values()):
        raise SqlError(15559, word_, found.name, "user")
    if session.database.name.lower() == "master" and any(
        login.sid == sid for login in session.database.server.logins.values()
    ):
        raise SqlError(15559, word_, found.name, "login")
    if any(
        mark == found.thumbprint
        for marks in session.database.signatures.values()
        for mark, _, _ in marks
    ):
        raise SqlError(15352, word_)
    number = found.certificate_id if class_ == CERTIFICATE else found.key_id
    session.database.forget(session.work(), class_, number)
    put_key(session, kind, found.name, None)


@drops("CERTIFICATE")
def drop_certificate(session: SessionState, name: ast.ObjectName, if_exists: bool) -> None:
    """DROP CERTIFICATE. Raises SqlError 15151, 15559 (a user or login), 15352 (a signature)."""
    _drop(session, "CERTIFICATE", CERTIFICATE, name)


@drops("ASYMMETRIC KEY")
def drop_asymmetric_key(session: SessionState, name: ast.ObjectName, if_exists: bool) -> None:
    """DROP ASYMMETRIC KEY, as DROP CERTIFICATE."""
    _drop(session, "ASYMMETRIC KEY", ASYMMETRIC_KEY, name)
