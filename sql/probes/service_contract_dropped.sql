/* F-256: ALTER SERVICE .. DROP CONTRACT with an open conversation on it: does the
   conversation go on, or are its ends told by an Error message?
   Settles service_contract_dropped = unaffected | error.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_service_contract_dropped') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_service_contract_dropped;
GO
USE RedialProbe_service_contract_dropped;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE QUEUE dbo.FromQueue;
CREATE QUEUE dbo.ToQueue;
CREATE SERVICE [//probe/from] ON QUEUE dbo.FromQueue ([DEFAULT]);
CREATE SERVICE [//probe/to] ON QUEUE dbo.ToQueue ([DEFAULT]);
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
DECLARE @h uniqueidentifier, @t uniqueidentifier;
DECLARE @errors int;
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue), TIMEOUT 10000;
ALTER SERVICE [//probe/to] (DROP CONTRACT [DEFAULT]);
WAITFOR DELAY '00:00:03';
SELECT @errors = COUNT(*)
FROM (SELECT q.message_type_name FROM dbo.FromQueue AS q
      UNION ALL
      SELECT q.message_type_name FROM dbo.ToQueue AS q) AS m
WHERE m.message_type_name LIKE N'%/Error';
SET @observed = CASE @errors WHEN 0 THEN N'goes on' ELSE CONCAT(N'Error messages: ', @errors) END;
SET @settles = CASE @errors WHEN 0 THEN N'service_contract_dropped=unaffected'
                            ELSE N'service_contract_dropped=error' END;
SELECT
    N'F-256' AS Fact,
    N'ALTER SERVICE .. DROP CONTRACT with an open conversation on it: does the ' +
        N'conversation go on, or are its ends told by an Error message?' AS Question,
    N'goes on' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_service_contract_dropped
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_service_contract_dropped;
GO
