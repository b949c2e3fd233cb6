"""sqlfluff segments of what dialog security and signed activation procedures need: master keys,
certificates, signatures, symmetric keys."""

from __future__ import annotations

from sqlfluff.core.parser import (
    BaseSegment,
    Bracketed,
    Delimited,
    OneOf,
    Ref,
    Sequence,
)

from redial.lint.plugin.parts import AUTHORIZATION, NAME, OBJECT, ON_OFF, STRING, option

_BINARY = Ref("NumericLiteralSegment")
_PASSWORD = option("PASSWORD", STRING)
_BY_PASSWORD = Sequence("BY", _PASSWORD)
_ENCRYPTION = Sequence("ENCRYPTION", _BY_PASSWORD)
_DECRYPTION = Sequence("DECRYPTION", _BY_PASSWORD)


class MasterKeyStatementSegment(BaseSegment):
    """CREATE, ALTER, OPEN, CLOSE, DROP MASTER KEY of a database."""

    type = "master_key_statement"
    match_grammar = OneOf(
        Sequence("CREATE", "MASTER", "KEY", Sequence(_ENCRYPTION, optional=True)),
        Sequence(
            "ALTER",
            "MASTER",
            "KEY",
            OneOf(
                Sequence(Ref.keyword("FORCE", optional=True), "REGENERATE", "WITH", _ENCRYPTION),
                Sequence(
                    OneOf("ADD", "DROP"),
                    "ENCRYPTION",
                    "BY",
                    OneOf(_PASSWORD, Sequence("SERVICE", "MASTER", "KEY")),
                ),
            ),
        ),
        Sequence("OPEN", "MASTER", "KEY", _DECRYPTION),
        Sequence(OneOf("CLOSE", "DROP"), "MASTER", "KEY"),
    )


_PRIVATE_KEY = Sequence(
    "PRIVATE",
    "KEY",
    Bracketed(
        Delimited(
            OneOf(option("FILE", STRING), option("BINARY", _BINARY), _ENCRYPTION, _DECRYPTION)
        )
    ),
)


class CertificateStatementSegment(BaseSegment):
    """CREATE, ALTER, DROP, BACKUP CERTIFICATE."""

    type = "certificate_statement"
    _active = option(Sequence("ACTIVE", "FOR", "BEGIN_DIALOG"), ON_OFF)
    _existing = Sequence(
        "FROM",
        OneOf(option("FILE", STRING), option("BINARY", _BINARY), Sequence("ASSEMBLY", NAME)),
        Sequence("WITH", _PRIVATE_KEY, optional=True),
    )
    _new = Sequence(
        Sequence(_ENCRYPTION, optional=True),
        "WITH",
        Delimited(
            OneOf(
                option("SUBJECT", STRING),
                option("START_DATE", STRING),
                option("EXPIRY_DATE", STRING),
            )
        ),
    )
    match_grammar = OneOf(
        Sequence(
            "CREATE",
            "CERTIFICATE",
            NAME,
            AUTHORIZATION,
            OneOf(_existing, _new),
            Sequence(_active, optional=True),
        ),
        Sequence(
            "ALTER",
            "CERTIFICATE",
            NAME,
            OneOf(
                Sequence("REMOVE", "PRIVATE", "KEY"),
                Sequence("WITH", _PRIVATE_KEY),
                Sequence("WITH", _active),
            ),
        ),
        Sequence(
            "BACKUP",
            "CERTIFICATE",
            NAME,
            "TO",
            option("FILE", STRING),
            Sequence("WITH", _PRIVATE_KEY, optional=True),
        ),
        Sequence("DROP", "CERTIFICATE", NAME),
    )


class SignatureStatementSegment(BaseSegment):
    """ADD, DROP SIGNATURE."""

    type = "signature_statement"
    _by = Sequence(
        "BY",
        Delimited(
            Sequence(
                OneOf("CERTIFICATE", Sequence("ASYMMETRIC", "KEY")),
                NAME,
                Sequence("WITH", OneOf(_PASSWORD, option("SIGNATURE", _BINARY)), optional=True),
            )
        ),
    )
    _module = Sequence(Sequence(NAME, Ref("CastOperatorSegment"), optional=True), OBJECT)
    match_grammar = OneOf(
        Sequence("ADD", Ref.keyword("COUNTER", optional=True), "SIGNATURE", "TO", _module, _by),
        Sequence("DROP", Ref.keyword("COUNTER", optional=True), "SIGNATURE", "FROM", _module, _by),
    )


class SymmetricKeyStatementSegment(BaseSegment):
    """CREATE, OPEN, CLOSE, DROP SYMMETRIC KEY."""

    type = "symmetric_key_statement"
    _mechanism = OneOf(
        _PASSWORD,
        Sequence(
            OneOf("CERTIFICATE", Sequence("SYMMETRIC", "KEY"), Sequence("ASYMMETRIC", "KEY")), NAME
        ),
    )
    match_grammar = OneOf(
        Sequence(
            "CREATE",
            "SYMMETRIC",
            "KEY",
            NAME,
            AUTHORIZATION,
            "WITH",
            Delimited(
                OneOf(
                    option("ALGORITHM", NAME),
                    option("KEY_SOURCE", STRING),
                    option("IDENTITY_VALUE", STRING),
                )
            ),
            Sequence("ENCRYPTION", "BY", Delimited(_mechanism)),
        ),
        Sequence(
            "OPEN",
            "SYMMETRIC",
            "KEY",
            NAME,
            "DECRYPTION",
            "BY",
            _mechanism,
            Sequence("WITH", _PASSWORD, optional=True),
        ),
        Sequence(
            "CLOSE", OneOf(Sequence("ALL", "SYMMETRIC", "KEYS"), Sequence("SYMMETRIC", "KEY", NAME))
        ),
        Sequence("DROP", "SYMMETRIC", "KEY", NAME),
    )


STATEMENTS = (
    MasterKeyStatementSegment,
    CertificateStatementSegment,
    SignatureStatementSegment,
    SymmetricKeyStatementSegment,
)
KEYWORDS = """
ACTIVE ASSEMBLY ASYMMETRIC BACKUP BEGIN_DIALOG BINARY CLOSE COUNTER DECRYPTION EXPIRY_DATE FILE
FORCE IDENTITY_VALUE KEYS KEY_SOURCE MASTER OPEN PASSWORD PRIVATE REGENERATE REMOVE SIGNATURE
START_DATE SUBJECT SYMMETRIC
"""
