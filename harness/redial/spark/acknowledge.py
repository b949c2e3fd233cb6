"""Telling the server how far a reader is, so that usp_PurgeLanding can purge what all have read."""

from __future__ import annotations

from typing import Any

from redial.odbc import server_message
from redial.quoting import quote_name
from redial.spark.connect import READER, explained
from redial.spark.options import StreamReadOptions

NO_SUCH_PROCEDURE = 2812
"""Could not find stored procedure (sys.messages)."""


def acknowledge(connection: Any, options: StreamReadOptions, mark: int) -> None:
    """Rows with RowVersion < ``mark`` are not needed again. Raises SourceError.

    Where the module retention is not installed nothing purges, and there is nobody to tell.
    """
    procedure = f"{quote_name(options.schema_name)}.[usp_AcknowledgeLanding]"
    doing = f"{procedure} for reader {options.reader!r}"
    with explained(options, doing, f"{READER}, or no option reader"):
        try:
            connection.execute(
                f"EXECUTE {procedure} @reader = ?, @upTo = ?;",
                options.reader,
                mark.to_bytes(8, "big"),
            )
        except Exception as error:  # whichever driver's
            if server_message(error)[0] != NO_SUCH_PROCEDURE:
                raise
