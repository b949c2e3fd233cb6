"""INSERT, UPDATE, DELETE, TRUNCATE TABLE, MERGE and table variables."""
