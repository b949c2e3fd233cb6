"""Names the server chooses: constraints without a name, in the shapes people know.

``PK__ServiceB__877FDFD18DF079BD`` (seed 002): two letters, the start of the table's name, and a
hash; ours is of table and columns, so that two runs choose the same name.
"""

from __future__ import annotations

from hashlib import blake2b

from redial_broker.engine.errors import SqlError

MAXIMUM_NAME = 128


def _hash(digits: int, *parts: object) -> str:
    return blake2b(repr(parts).encode(), digest_size=8).hexdigest()[:digits].upper()


def key_name(primary: bool, table: str, columns: list[str]) -> str:
    """Name of an unnamed PRIMARY KEY or UNIQUE constraint."""
    return f"{'PK' if primary else 'UQ'}__{table[:8]}__{_hash(16, table.lower(), columns)}"


def default_name(table: str, column: str) -> str:
    """Name of an unnamed DEFAULT constraint."""
    return f"DF__{table[:9]}__{column[:5]}__{_hash(8, table.lower(), column.lower())}"


def check_name(table: str, column: str, text: str) -> str:
    """Name of an unnamed CHECK constraint; column "" for one of the table."""
    middle = f"__{column[:5]}" if column else ""
    return f"CK__{table[:9]}{middle}__{_hash(8, table.lower(), column.lower(), text)}"


def foreign_key_name(table: str, columns: list[str], referenced: str) -> str:
    """Name of an unnamed FOREIGN KEY constraint."""
    middle = f"__{columns[0][:5]}" if len(columns) == 1 else ""
    return f"FK__{table[:9]}{middle}__{_hash(8, table.lower(), columns, referenced.lower())}"


def check_length(name: str) -> None:
    """Raise SqlError 103 for a name of more than 128 characters."""
    if len(name) > MAXIMUM_NAME:
        raise SqlError(103, "identifier", name[:MAXIMUM_NAME], MAXIMUM_NAME)
