"""Storage, indexes, locks, journal, transactions, scheduler and clock. Knows no T-SQL, no I/O."""
