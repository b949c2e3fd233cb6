SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Service Broker must be on. ENABLE_BROKER keeps the broker's guid and needs the database for
   itself (F-101). database.enable_broker says how it may come by that, once, where the broker is off:
   no_wait gives up when anybody else is in the database (05_preflight names them); immediate cuts every
   other session off; wait lets them end, however long that takes (ALTER DATABASE heeds no LOCK_TIMEOUT),
   and whoever comes meanwhile may queue behind it; with never this script is not there.
   A restored copy beside its original is refused (9772): only you can know whether it may have
   NEW_BROKER, which deletes its conversations. Managed Instance (engine edition 8) has it on and
   refuses the statement (F-102), so it is issued only where it is off and may be switched. */
IF CONVERT(int, SERVERPROPERTY(N'EngineEdition')) <> 8
   AND EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.database_id = DB_ID() AND d.is_broker_enabled = 0)
BEGIN
    ALTER DATABASE CURRENT SET ENABLE_BROKER WITH NO_WAIT;
END;
GO
