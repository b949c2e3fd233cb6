"""Telling the server how far a reader is, so that usp_PurgeLanding can purge what all have read."""

from __future__ import annotations

from typing import Any

from redial.quoting import quote_name
from redial.spark.connect import told
from redial.spark.options import StreamReadOptions


def acknowledge(connection: Any, options: StreamReadOptions, mark: int) -> None:
    """Rows with RowVersion < ``mark`` are not needed again. Raises SourceError."""
    procedure = f"{quote_name(options.schema_name)}.[usp_AcknowledgeLanding]"
    try:
        connection.execute(
            f"EXECUTE {procedure} @reader = ?, @upTo = ?;", options.reader, mark.to_bytes(8, "big")
        )
    except Exception as error:  # whichever driver's
        raise told(
            error,
            options,
            f"{procedure} for reader {options.reader!r}",
            "a login in the configuration's reader role, or no option reader",
        ) from None
