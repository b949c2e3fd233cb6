"""A stream that cannot start, in place of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition


class RefusedStream(DataSourceStreamReader):
    """Says why, whatever Spark asks first (which differs between its versions)."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def _refuse(self) -> NoReturn:
        raise self.error

    def initialOffset(self) -> dict[str, str]:
        """Raises the error."""
        self._refuse()

    def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, str]:
        """Raises the error."""
        self._refuse()

    def getDefaultReadLimit(self) -> Any:
        """Raises the error."""
        self._refuse()

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> list[InputPartition]:
        """Raises the error."""
        self._refuse()

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Raises the error."""
        self._refuse()
