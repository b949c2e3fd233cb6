"""Ids of owners, the same for objects of the broker as for all others."""

from __future__ import annotations

DBO = 1
"""Principal id of dbo, who owns what names no owner."""

OWNER = -2
"""execute_as of EXECUTE AS OWNER, of queues and of modules (sys.service_queues, sys.sql_modules)."""
