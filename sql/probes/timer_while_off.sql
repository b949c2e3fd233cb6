/* F-265: A conversation timer comes due while its queue is off: does it ring when the queue
   is on again?
   Settles timer_while_off = waits | lost.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_timer_while_off') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_timer_while_off;
GO
USE RedialProbe_timer_while_off;
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
BEGIN CONVERSATION TIMER (@h) TIMEOUT = 2;
ALTER QUEUE dbo.FromQueue WITH STATUS = OFF;
WAITFOR DELAY '00:00:05';
ALTER QUEUE dbo.FromQueue WITH STATUS = ON;
WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.FromQueue), TIMEOUT 70000;
SET @observed = CASE WHEN @t IS NULL THEN N'silent' ELSE N'rings' END;
SET @settles = CASE WHEN @t IS NULL THEN N'timer_while_off=lost' ELSE N'timer_while_off=waits' END;
SELECT
    N'F-265' AS Fact,
    N'A conversation timer comes due while its queue is off: does it ring when the ' +
        N'queue is on again?' AS Question,
    N'rings' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_timer_while_off
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_timer_while_off;
GO
