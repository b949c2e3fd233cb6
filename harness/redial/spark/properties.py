"""Local properties in which Spark tells the tasks of a stream whose they are."""

from __future__ import annotations

QUERY_PROPERTY = "sql.streaming.queryId"
"""The id under which a checkpoint knows its query."""

BATCH_PROPERTY = "streaming.sql.batchId"
"""The number of the micro-batch."""
