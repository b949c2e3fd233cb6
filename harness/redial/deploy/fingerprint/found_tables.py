"""Tables, their columns and their indexes, as a server's catalog tells them."""

from __future__ import annotations

from redial.deploy.fingerprint.expressions import condition_text, value_text
from redial.deploy.fingerprint.model import Catalog, Thing, switch, written
from redial.deploy.fingerprint.queries import Row
from redial.deploy.fingerprint.tables import INCREMENTAL, NO_COMPRESSION, PRIMARY, UNPARTITIONED

FULL = 100
"""A fill factor that is the same as 0 (CREATE INDEX page)."""
BOUND = {"nvarchar", "nchar"}
_COUNTED = frozenset({"varbinary", "binary", "varchar", "char", "nvarchar", "nchar"})
_SCALED = frozenset({"datetime2", "time", "datetimeoffset"})
_BLANKS_COUNT = frozenset({"char", "varchar", "binary", "varbinary"})
"""Types of which a column may be made with ANSI_PADDING OFF (sys.columns)."""
TABLE_KINDS = {
    "is_memory_optimized": "in memory",
    "durability": "schema only",
    "temporal_type": "temporal",
    "is_tracked_by_cdc": "change data capture",
    "is_replicated": "replicated",
    "is_merge_published": "merge replication",
    "has_replication_filter": "replicated by a filter",
    "is_sync_tran_subscribed": "an updatable subscription",
    "lock_on_bulk_load": "table lock on bulk load",
    "large_value_types_out_of_row": "large values out of row",
    "text_in_row_limit": "text in row",
    "is_remote_data_archive_enabled": "stretched",
    "is_filetable": "FileTable",
    "is_external": "external",
    "is_node": "graph node",
    "is_edge": "graph edge",
}
COLUMN_KINDS = {
    "is_rowguidcol": "rowguidcol",
    "is_sparse": "sparse",
    "is_masked": "masked",
    "is_hidden": "hidden",
    "is_filestream": "filestream",
    "is_replicated": "replicated",
    "is_non_sql_subscribed": "replicated to another product",
    "is_merge_published": "merge replication",
    "is_dts_replicated": "replicated by packages",
    "is_column_set": "column set",
    "is_persisted": "persisted",
    "is_xml_document": "one XML document",
    "xml_collection_id": "typed XML",
    "rule_object_id": "bound to a rule",
    "generated_always_type": "generated always",
}
"""What ours never are: a column of the catalog, and its word here."""


def table(row: Row) -> dict[str, str]:
    """A table's own properties."""
    special = _special(row, TABLE_KINDS)
    if not row["uses_ansi_nulls"]:
        special = ", ".join(filter(None, (special, "ANSI_NULLS OFF")))
    return {"lock escalation": row["lock_escalation_desc"].lower(), "special": special}


def columns(rows: list[Row]) -> Catalog:
    """Columns of tables and of table types."""
    return {Thing("column", row["name"], row["owner"]): _column(row) for row in rows}


def _column(row: Row) -> dict[str, str]:
    special = _special(row, COLUMN_KINDS)
    if row["type_name"] in _BLANKS_COUNT and not row["is_ansi_padded"]:
        special = ", ".join(filter(None, (special, "ANSI_PADDING OFF")))
    # Whether sys.identity_columns has those of table types is not said.
    identity = f"{row['seed'] or 1}, {row['step'] or 1}" if row["is_identity"] else ""
    if row["is_not_for_replication"]:
        identity += " not for replication"
    default = row["default_value"]
    return {
        written("place"): str(int(row["column_id"])),
        "type": type_text(row),
        "nullable": switch(row["is_nullable"]),
        "identity": identity,
        "computed": value_text(row["computed"]) if row["computed"] else "",
        written("computed"): _line(row["computed"]),
        "default": value_text(default) if default else "",
        written("default"): _line(default),
        "default's name": row["default_name"] or "",
        "collation": row["collation_name"] or "",
        "special": special,
    }


def indexes(rows: list[Row], parts: list[Row], marked: list[Row], types: set[str]) -> Catalog:
    """Indexes with their options.

    parts: columns of indexes. marked: those that are OPTIMIZE_FOR_SEQUENTIAL_KEY; a row of NULLs where
    the server has no such option. types: names of table types, whose keys have names of the server's.
    """
    of: dict[tuple[int, int], list[Row]] = {}
    for row in parts:
        of.setdefault((row["object_id"], row["index_id"]), []).append(row)
    sequential = {(row["object_id"], row["index_id"]) for row in marked}
    found: Catalog = {}
    for row in rows:
        place = row["object_id"], row["index_id"]
        own = _index(row, of.get(place, []))
        if (None, None) not in sequential:
            own["sequential"] = switch(place in sequential)
        name = PRIMARY if row["owner"] in types and row["is_primary_key"] else row["name"]
        found[Thing("index", name, row["owner"])] = own
    return found


def _index(row: Row, parts: list[Row]) -> dict[str, str]:
    role = "unique constraint" if row["is_unique_constraint"] else "index"
    where = row["filter_definition"]
    return {
        "role": PRIMARY if row["is_primary_key"] else role,
        "unique": switch(row["is_unique"]),
        "clustered": switch(row["type"] == 1),
        "columns": ", ".join(
            one["name"] + (" descending" if one["is_descending_key"] else "")
            for one in parts
            if not one["is_included_column"]
        ),
        "included": ", ".join(sorted(one["name"] for one in parts if one["is_included_column"])),
        "filter": condition_text(where) if where else "",
        written("filter"): _line(where),
        "row locks": switch(row["allow_row_locks"]),
        "page locks": switch(row["allow_page_locks"]),
        "ignores duplicates": switch(row["ignore_dup_key"]),
        "padded": switch(row["is_padded"]),
        "fill factor": str(row["fill_factor"] % FULL),
        "in use": switch(not row["is_disabled"] and not row["is_hypothetical"]),
        "statistics": INCREMENTAL
        if row["is_incremental"]
        else "left as they are"
        if row["no_recompute"]
        else "recomputed",
        "compression": (row["compression"] or NO_COMPRESSION).lower(),
        "partitions": str(row["partitions"] or UNPARTITIONED),
    }


def check(row: Row) -> dict[str, str]:
    """A check."""
    condition = row["definition"]
    return {
        "condition": condition_text(condition or ""),
        written("condition"): _line(condition),
        "in force": switch(not row["is_disabled"]),
        "trusted": switch(not row["is_not_trusted"]),
        "for replication": switch(not row["is_not_for_replication"]),
    }


def _line(text: str | None) -> str:
    """An expression in one line."""
    return " ".join((text or "").split())


def _special(row: Row, kinds: dict[str, str]) -> str:
    """What a table or column is besides, in words."""
    return ", ".join(word for column, word in kinds.items() if row[column])


def type_text(row: Row) -> str:
    """A column's type with its length or scale."""
    name: str = row["type_name"]
    if name in _COUNTED:
        length = row["max_length"]
        shown = "max" if length == -1 else str(length // (2 if name in BOUND else 1))
        return f"{name}({shown})"
    if name in _SCALED:
        return f"{name}({row['scale']})"
    if name in ("decimal", "numeric"):
        return f"{name}({row['precision']}, {row['scale']})"
    return name
