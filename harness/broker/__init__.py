"""The embedded broker: a deterministic SQL Server stand-in that real drivers connect to."""
