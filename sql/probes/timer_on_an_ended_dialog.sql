/* F-134: Is BEGIN CONVERSATION TIMER accepted on an endpoint in state DI, and does a
   refusal doom its transaction?
   Settles timer_in_dead_state = error | allow.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_timer_on_an_ended_dialog') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_timer_on_an_ended_dialog;
GO
USE RedialProbe_timer_on_an_ended_dialog;
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
END CONVERSATION @t;
WAITFOR DELAY '00:00:02';
SET XACT_ABORT OFF;
BEGIN TRANSACTION;
BEGIN TRY
    BEGIN CONVERSATION TIMER (@h) TIMEOUT = 3600;
    SET @observed = N'accepted';
END TRY
BEGIN CATCH
    SET @observed = CONCAT(N'error ', ERROR_NUMBER(), N', XACT_STATE ', XACT_STATE());
END CATCH;
IF @@TRANCOUNT > 0
    ROLLBACK TRANSACTION;
SET @settles = CASE
    WHEN @observed = N'accepted' THEN N'timer_in_dead_state=allow'
    WHEN @observed LIKE N'error 8458%' THEN N'timer_in_dead_state=error' END;
SELECT
    N'F-134' AS Fact,
    N'Is BEGIN CONVERSATION TIMER accepted on an endpoint in state DI, and does a ' +
        N'refusal doom its transaction?' AS Question,
    N'error 8458, XACT_STATE 1' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_timer_on_an_ended_dialog
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_timer_on_an_ended_dialog;
GO
