SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Service Broker must be on. ENABLE_BROKER keeps the broker's guid and needs the database for
   itself (F-101). database.enable_broker says how it may come by that, once, where the broker is off:
   rollback_immediate cuts every other session of the database off; wait lets them end, however long
   that takes (ALTER DATABASE heeds no LOCK_TIMEOUT); never leaves it to you, in a quiet hour.
   A restored copy beside its original is refused (9772): only you can know whether it may have
   NEW_BROKER, which deletes its conversations. Managed Instance (engine edition 8) has it on and
   refuses the statement (F-102), so it is issued only where it is off and may be switched. */
IF CONVERT(int, SERVERPROPERTY(N'EngineEdition')) <> 8
   AND EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.database_id = DB_ID() AND d.is_broker_enabled = 0)
BEGIN
    ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
END;
GO
