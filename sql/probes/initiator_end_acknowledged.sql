/* F-263: The initiator ends first, both sides in one instance: is its row gone at once, or
   DISCONNECTED_OUTBOUND?
   Settles initiator_end_acknowledged = at once | never.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_initiator_end_acknowledged') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_initiator_end_acknowledged;
GO
USE RedialProbe_initiator_end_acknowledged;
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
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue), TIMEOUT 10000;
END CONVERSATION @h;
WAITFOR DELAY '00:00:05';
SET @observed = N'gone';
SELECT @observed = e.state_desc
FROM sys.conversation_endpoints AS e
WHERE e.conversation_handle = @h;
SET @settles = CASE @observed
    WHEN N'gone' THEN N'initiator_end_acknowledged=at once'
    WHEN N'DISCONNECTED_OUTBOUND' THEN N'initiator_end_acknowledged=never' END;
SELECT
    N'F-263' AS Fact,
    N'The initiator ends first, both sides in one instance: is its row gone at once, ' +
        N'or DISCONNECTED_OUTBOUND?' AS Question,
    N'gone' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_initiator_end_acknowledged
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_initiator_end_acknowledged;
GO
