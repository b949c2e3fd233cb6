"""``format("servicebroker")``: what a Redial configuration landed as a DataFrame, and back.

Spark finds this module by its name (``pyspark_*`` with a ``DefaultSource``), on every interpreter
of the cluster, so nothing heavy is imported before it is used. All work is done by
redial.spark; here is what Spark asks for. docs/spark.md says how to use it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType


class DefaultSource(DataSource):
    """Reads ranges of the landing table and sends through usp_SendBatch; never RECEIVEs."""

    @classmethod
    def name(cls) -> str:
        """The word for ``format``."""
        return "servicebroker"

    def schema(self) -> str:
        """The columns of redial.spark.columns that ``columns`` names, by default all.

        Spark asks at load(), before anything starts, so options are checked here too; but it does
        not say whether a batch or a stream will be read. Raises OptionsError.
        """
        from redial.spark.columns import chosen, schema_of
        from redial.spark.options import BatchReadOptions, StreamReadOptions
        from redial.spark.parsing import parse_either

        options = parse_either((BatchReadOptions, StreamReadOptions), self.options)
        return schema_of(chosen(options.columns))

    def reader(self, schema: StructType) -> DataSourceReader:
        """``spark.read``. Raises OptionsError."""
        from pyspark_servicebroker.read import BatchReader, refuse_other_schema
        from redial.spark.options import BatchReadOptions
        from redial.spark.parsing import parse

        refuse_other_schema(schema, self.options.get("columns"))
        return BatchReader(parse(BatchReadOptions, self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # Spark's name
        """``spark.readStream``. What is wrong is raised when the query starts: an error in here
        would reach nobody (Spark's runner then fails with an UnboundLocalError of its own)."""
        from pyspark_servicebroker.read import refuse_other_schema
        from pyspark_servicebroker.refused import RefusedStream
        from pyspark_servicebroker.stream import StreamReader
        from redial.spark.options import OptionsError, StreamReadOptions
        from redial.spark.parsing import parse

        try:
            refuse_other_schema(schema, self.options.get("columns"))
            return StreamReader(parse(StreamReadOptions, self.options))
        except OptionsError as error:
            return RefusedStream(error)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """``df.write``. Raises OptionsError."""
        from pyspark_servicebroker.write import BatchWriter, checked
        from redial.spark.options import BatchWriteOptions
        from redial.spark.parsing import parse

        options = parse(BatchWriteOptions, self.options)
        return BatchWriter(options, checked(schema, options, overwrite))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """``df.writeStream``. Raises OptionsError."""
        from pyspark_servicebroker.write import StreamWriter, checked
        from redial.spark.options import WriteOptions
        from redial.spark.parsing import parse

        options = parse(WriteOptions, self.options)
        return StreamWriter(options, checked(schema, options, overwrite))
