"""Forms of statements we take that a server knows and Redial has no use for: refused by name.

The grammar meets a word it does not expect; when statement and word together are one of these, the
text is no mistake, and the error says so.
"""

from __future__ import annotations

_AZURE = "options of an Azure SQL database"
_PARTITIONS = "partitioned tables"
_SEVERAL = "several SET commands in one statement"

_FORMS: dict[tuple[str, ...], dict[str, str]] = {
    ("(",): {"EDITION": _AZURE, "MAXSIZE": _AZURE, "SERVICE_OBJECTIVE": _AZURE},
    ("ALTER", "CERTIFICATE"): {
        "ATTESTED": "attested certificates",
        "REMOVE ATTESTED": "attested certificates",
    },
    ("ALTER", "DATABASE"): {
        "AVAILABILITY GROUP": "availability groups",
        "CLEAR ALL": "the Query Store",
        "CONTAINS": "FILESTREAM and memory-optimized filegroups",
        "MODIFY": "ALTER DATABASE MODIFY of an Azure SQL database",
        "REBUILD": "ALTER DATABASE REBUILD LOG",
        "SAFETY FULL": "database mirroring",
        "SAFETY OFF": "database mirroring",
        "SCOPED CREDENTIAL": "database scoped credentials",
        "TEMPORAL_HISTORY_RETENTION": "TEMPORAL_HISTORY_RETENTION of temporal tables",
    },
    ("ALTER", "INDEX"): {
        "ABORT": "resumable index operations",
        "FOR": "selective XML indexes",
        "PAUSE": "resumable index operations",
        "RESUME": "resumable index operations",
        "WITH": "selective XML indexes",
    },
    ("ALTER", "LOGIN"): {"NO CREDENTIAL": "credentials of a login"},
    ("ALTER", "SERVICE"): {"WITH": "accounts of the service master key"},
    ("ALTER", "TABLE"): {
        "CONNECTION": "edge constraints",
        "FILETABLE_NAMESPACE": "FileTables",
        "PERIOD FOR": "PERIOD FOR SYSTEM_TIME",
        "DROP INDEX": "ALTER TABLE DROP INDEX",
        "MERGE": _PARTITIONS,
        "MONTHS": "temporal tables",
        "PARTITION": _PARTITIONS,
        "SPLIT": _PARTITIONS,
        "WITH": "ALTER COLUMN WITH options",
    },
    ("CREATE", "ASYMMETRIC"): {
        "ASSEMBLY": "keys from an assembly",
        "PROVIDER": "keys of a cryptographic provider",
    },
    ("CREATE", "CREDENTIAL"): {"FOR": "credentials of a cryptographic provider"},
    ("CREATE", "DATABASE"): {
        "ATTACH_FORCE_REBUILD_LOG": "CREATE DATABASE FOR ATTACH_FORCE_REBUILD_LOG",
    },
    ("CREATE", "FUNCTION"): {"TABLE (": "CLR functions"},
    ("CREATE", "INDEX"): {
        "FILESTREAM_ON": "FILESTREAM storage",
        "ON PARTITIONS": "partitioned indexes",
    },
    ("CREATE", "LOGIN"): {"TYPE": "logins of an external provider"},
    ("CREATE", "SYMMETRIC"): {"PROVIDER": "keys of a cryptographic provider"},
    ("CREATE", "TABLE"): {
        "AS EDGE": "graph tables",
        "AS NODE": "graph tables",
        "CONNECTION": "edge constraints",
        "CONNECTION (": "edge constraints",
        "FEDERATED": "federations",
        "FILESTREAM_ON": "FILESTREAM storage",
        "ON PARTITIONS": _PARTITIONS,
        "RANGE": _PARTITIONS,
    },
    ("CREATE", "USER"): {"TYPE": "users of an external provider"},
    ("DROP", "ASYMMETRIC"): {"REMOVE PROVIDER": "keys of a cryptographic provider"},
    ("DROP", "DATABASE"): {
        "AUDIT SPECIFICATION": "database audit specifications",
        "ENCRYPTION KEY": "database encryption keys",
        "SCOPED CREDENTIAL": "database scoped credentials",
    },
    ("DROP", "EVENT"): {"SESSION": "event sessions"},
    ("DROP", "SERVER"): {"AUDIT": "server audits"},
    ("DROP", "SYMMETRIC"): {"REMOVE PROVIDER": "keys of a cryptographic provider"},
    ("LINENO",): {"LINENO": "the statement LINENO"},
    ("SELECT",): {
        "SEMANTICKEYPHRASETABLE": "semantic search",
        "SEMANTICSIMILARITYDETAILSTABLE": "semantic search",
        "SEMANTICSIMILARITYTABLE": "semantic search",
    },
    ("SET", "CONTEXT_INFO"): {",": _SEVERAL},
    ("SET", "DEADLOCK_PRIORITY"): {",": _SEVERAL},
    ("SET", "FIPS_FLAGGER"): {",": _SEVERAL},
    ("SET", "LANGUAGE"): {",": _SEVERAL},
    ("UPDATE", "STATISTICS"): {"ON PARTITIONS": "statistics of partitions"},
}
"""First words of a statement -> the word that does not fit ours, alone or with the one before or
behind it -> what it belongs to."""


def construct(words: list[str], start: int, i: int) -> str | None:
    """Name what the word at ``i`` belongs to, in the statement that begins at ``start``.

    words: upper-case words of the batch. None when the word is simply wrong there.
    """
    word = words[i]
    forms = _FORMS.get((words[start], words[start + 1])) or _FORMS.get((words[start],))
    if words[start : start + 4] == ["ALTER", "DATABASE", "SCOPED", "CONFIGURATION"]:
        return "this form of ALTER DATABASE SCOPED CONFIGURATION"
    if words[start : start + 2] == ["USE", "FEDERATION"]:
        return "federations"
    if word == "ATOMIC" and words[i - 1] == "BEGIN":
        return "BEGIN ATOMIC"
    if forms is None:
        forms = _FORMS.get((word,), {})
    for form in (word, f"{words[i - 1]} {word}", f"{word} {words[i + 1]}"):
        if form in forms:
            return forms[form]
    return None
