"""Master keys, certificates, symmetric and asymmetric keys, signatures, credentials."""

from __future__ import annotations

from redial.tsql.ast import (
    AddSignature,
    AlterCertificate,
    AlterMasterKey,
    BackupCertificate,
    CreateCertificate,
    CreateCredential,
    CreateKey,
    CreateMasterKey,
    Identifier,
    OpenKey,
    Option,
    Signer,
    Statement,
)
from redial.tsql.lexer import STRING
from redial.tsql.parser.security import SecurityParser

_CERTIFICATE_OPTIONS = (
    ("ENCRYPTION", "BY", "PASSWORD"),
    ("ACTIVE", "FOR", "BEGIN_DIALOG"),
    ("EXECUTABLE", "FILE"),
    ("FILE",),
    ("BINARY",),
    ("SUBJECT",),
    ("START_DATE",),
    ("EXPIRY_DATE",),
)
_PRIVATE_KEY_OPTIONS = (
    ("ENCRYPTION", "BY", "PASSWORD"),
    ("DECRYPTION", "BY", "PASSWORD"),
    ("FILE",),
    ("BINARY",),
)
_KEY_OPTIONS = (
    ("ALGORITHM",),
    ("KEY_SOURCE",),
    ("IDENTITY_VALUE",),
    ("CREATION_DISPOSITION",),
    ("PROVIDER_KEY_NAME",),
    ("ENCRYPTION", "BY", "PASSWORD"),
)
_TEXTS = {"PASSWORD", "SUBJECT", "FILE", "START_DATE", "EXPIRY_DATE"}
"""Options whose value is a string, never a bare word."""

_KEY_PROTECTORS = (("CERTIFICATE",), ("SYMMETRIC", "KEY"), ("ASYMMETRIC", "KEY"))


class KeyParser(SecurityParser):
    """Keys and what is signed with them."""

    # ------------------------------------------------------------------------------ common pieces
    def _assigned(self, names: tuple[tuple[str, ...], ...]) -> Option | None:
        """Read ``NAME = value`` for one of ``names``, or nothing."""
        start = self.starts[self.i]
        for words in names:
            if self.at(*words) and self.words[self.i + len(words)] == "=":
                self.i += len(words) + 1
                if words[-1] in _TEXTS and self.kinds[self.i] != STRING:
                    self.unexpected()
                value = self._option_scalar()
                return Option(start, self.last_end(), " ".join(words), value)
        return None

    def _needed(self, *name: str) -> Option:
        return self._assigned((name,)) or self.unexpected()

    def _private_key(self) -> Option:
        """Read ``PRIVATE KEY (..)``."""
        start = self.starts[self.i]
        self.expect("PRIVATE", "KEY")
        arguments = self.parenthesised(
            lambda: self._assigned(_PRIVATE_KEY_OPTIONS) or self.unexpected()
        )
        return Option(start, self.last_end(), "PRIVATE KEY", arguments=arguments)

    # -------------------------------------------------------------------------------- master keys
    def master_key(self, start: int, verb: str) -> Statement:
        """Read [SERVICE] MASTER KEY after CREATE, ALTER or BACKUP."""
        service = self.accept("SERVICE")
        self.expect("MASTER", "KEY")
        if verb == "CREATE" and not service:
            password = None
            if self.words[self.i] == "ENCRYPTION":
                option = self._needed("ENCRYPTION", "BY", "PASSWORD")
                password = option.value
            return CreateMasterKey(start, self.last_end(), password)
        if verb == "BACKUP":
            self.expect("TO")
            options = [self._needed("FILE"), self._needed("ENCRYPTION", "BY", "PASSWORD")]
            return AlterMasterKey(start, self.last_end(), "BACKUP", options, service)
        if verb != "ALTER":
            self.unexpected()
        action, options = self._master_key_change()
        return AlterMasterKey(start, self.last_end(), action, options, service)

    def _master_key_change(self) -> tuple[str, list[Option]]:
        action = "FORCE REGENERATE" if self.accept("FORCE") else ""
        if action or self.words[self.i] == "REGENERATE":
            self.expect("REGENERATE")
            options = []
            if self.accept("WITH"):
                options = [self._needed("ENCRYPTION", "BY", "PASSWORD")]
            return action or "REGENERATE", options
        verb = self.expect_any("ADD", "DROP")
        start = self.starts[self.i]
        if self.accept_all("ENCRYPTION", "BY", "SERVICE", "MASTER", "KEY"):
            option = Option(start, self.last_end(), "ENCRYPTION BY SERVICE MASTER KEY")
        else:
            option = self._needed("ENCRYPTION", "BY", "PASSWORD")
        return f"{verb} ENCRYPTION", [option]

    def open_or_close_key(self, start: int) -> Statement | None:
        """Read OPEN|CLOSE MASTER KEY or SYMMETRIC KEY, or nothing."""
        verb = self.words[self.i]
        if self.words[self.i + 1] == "MASTER" and self.words[self.i + 2] == "KEY":
            self.i += 3
            options = []
            if verb == "OPEN":
                options = [self._needed("DECRYPTION", "BY", "PASSWORD")]
            return AlterMasterKey(start, self.last_end(), verb, options)
        if self.accept_all("CLOSE", "ALL", "SYMMETRIC", "KEYS"):
            return OpenKey(start, self.last_end(), False, None, [])
        if self.words[self.i + 1] != "SYMMETRIC" or self.words[self.i + 2] != "KEY":
            return None
        self.i += 3
        name = self.identifier()
        options = []
        if verb == "OPEN":
            self.expect("DECRYPTION", "BY")
            options = [self._protector()]
        return OpenKey(start, self.last_end(), verb == "OPEN", name, options)

    def _protector(self) -> Option:
        """Read ``CERTIFICATE c``, ``PASSWORD = '..'`` and kin after BY."""
        start = self.starts[self.i]
        for words in _KEY_PROTECTORS:
            if self.accept_all(*words):
                option = Option(start, start, " ".join(words), self.identifier())
                if self.accept("WITH"):
                    option.arguments = [self._needed("PASSWORD")]
                option.end = self.last_end()
                return option
        return self._needed("PASSWORD")

    # ------------------------------------------------------------------------------- certificates
    def certificate(self, start: int, verb: str) -> Statement:
        """Read CERTIFICATE after CREATE, ALTER or BACKUP."""
        self.expect("CERTIFICATE")
        name = self.identifier()
        if verb == "ALTER":
            options = self._certificate_changes()
            return AlterCertificate(start, self.last_end(), name, options)
        if verb == "BACKUP":
            return self._backup_certificate(start, name)
        owner = self.owner()
        options = []
        if self.accept("FROM"):
            if self.words[self.i] == "ASSEMBLY":
                self.not_supported("certificates from an assembly")
            options.append(self._assigned(_CERTIFICATE_OPTIONS) or self.unexpected())
            if self.accept("WITH"):
                options.append(self._private_key())
        else:
            if self.words[self.i] == "ENCRYPTION":
                options.append(self._needed("ENCRYPTION", "BY", "PASSWORD"))
            self.expect("WITH")
            options += self.list_of(
                lambda: self._assigned(_CERTIFICATE_OPTIONS) or self.unexpected()
            )
        if self.words[self.i] == "ACTIVE":
            options.append(self._needed("ACTIVE", "FOR", "BEGIN_DIALOG"))
        return CreateCertificate(start, self.last_end(), name, owner, options)

    def _certificate_changes(self) -> list[Option]:
        start = self.starts[self.i]
        if self.accept_all("REMOVE", "PRIVATE", "KEY"):
            return [Option(start, self.last_end(), "REMOVE PRIVATE KEY")]
        self.expect("WITH")
        if self.words[self.i] == "PRIVATE":
            return [self._private_key()]
        return [self._needed("ACTIVE", "FOR", "BEGIN_DIALOG")]

    def _backup_certificate(self, start: int, name: Identifier) -> BackupCertificate:
        self.expect("TO", "FILE", "=")
        file = self.string()
        options = [self._private_key()] if self.accept("WITH") else []
        return BackupCertificate(start, self.last_end(), name, file, options)

    # ------------------------------------------------------------------------------------ the rest
    def symmetric_key(self, start: int, verb: str) -> Statement:
        """Read SYMMETRIC KEY or ASYMMETRIC KEY after CREATE."""
        if verb != "CREATE":
            self.not_supported(f"{verb} {self.words[self.i]} KEY")
        symmetric = self.expect_any("SYMMETRIC", "ASYMMETRIC") == "SYMMETRIC"
        self.expect("KEY")
        name = self.identifier()
        owner = self.owner()
        options = []
        if self.accept("FROM"):
            options.append(self._assigned(_CERTIFICATE_OPTIONS) or self.unexpected())
        if self.accept("WITH"):
            options += self.list_of(lambda: self._assigned(_KEY_OPTIONS) or self.unexpected())
        if symmetric and self.accept_all("ENCRYPTION", "BY"):
            options += self.list_of(self._protector)
        elif self.words[self.i] == "ENCRYPTION":
            options.append(self._needed("ENCRYPTION", "BY", "PASSWORD"))
        return CreateKey(start, self.last_end(), symmetric, name, owner, options)

    def signature(self, start: int) -> Statement:
        """Read ADD|DROP [COUNTER] SIGNATURE TO|FROM module BY signer, .."""
        verb = self.expect_any("ADD", "DROP")
        counter = self.accept("COUNTER")
        self.expect("SIGNATURE", "TO" if verb == "ADD" else "FROM")
        module = self.securable()
        self.expect("BY")
        signers = self.list_of(self._signer)
        return AddSignature(start, self.last_end(), verb, counter, module, signers)

    def _signer(self) -> Signer:
        start = self.starts[self.i]
        kind = self.expect_any("CERTIFICATE", "ASYMMETRIC")
        if kind == "ASYMMETRIC":
            self.expect("KEY")
            kind = "ASYMMETRIC KEY"
        name = self.identifier()
        option = None
        if self.accept("WITH"):
            option = self._assigned((("PASSWORD",), ("SIGNATURE",))) or self.unexpected()
        return Signer(start, self.last_end(), kind, name, option)

    def credential(self, start: int, verb: str) -> Statement:
        """Read CREDENTIAL."""
        self.expect("CREDENTIAL")
        name = self.identifier()
        self.expect("WITH")
        options = self.list_of(
            lambda: self._assigned((("IDENTITY",), ("SECRET",))) or self.unexpected()
        )
        return CreateCredential(start, self.last_end(), verb, name, options)

    def backup(self, start: int) -> Statement:
        """Read BACKUP of a certificate or master key; backups of data are refused."""
        self.i += 1
        if self.words[self.i] == "CERTIFICATE":
            return self.certificate(start, "BACKUP")
        if self.words[self.i] in ("MASTER", "SERVICE"):
            return self.master_key(start, "BACKUP")
        self.not_supported(f"BACKUP {self.words[self.i]}")
