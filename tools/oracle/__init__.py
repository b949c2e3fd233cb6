"""Parts of tools/tsql_oracle.py: Microsoft's T-SQL parser and schema model."""
