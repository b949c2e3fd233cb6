/* F-131: Does a refused SEND leave its transaction usable with XACT_ABORT OFF?
   Settles broker_error_dooms = false | true.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_send_on_a_dead_dialog') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_send_on_a_dead_dialog;
GO
USE RedialProbe_send_on_a_dead_dialog;
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
DECLARE @di nvarchar(100), @gone nvarchar(100);
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue), TIMEOUT 10000;
END CONVERSATION @t;
WAITFOR DELAY '00:00:02';
SET XACT_ABORT OFF;
BEGIN TRANSACTION;
BEGIN TRY
    SEND ON CONVERSATION @h (0x02);
    SET @di = N'accepted';
END TRY
BEGIN CATCH
    SET @di = CONCAT(N'error ', ERROR_NUMBER(), N', XACT_STATE ', XACT_STATE());
END CATCH;
IF @@TRANCOUNT > 0
    ROLLBACK TRANSACTION;
END CONVERSATION @h;
BEGIN TRANSACTION;
BEGIN TRY
    SEND ON CONVERSATION @h (0x03);
    SET @gone = N'accepted';
END TRY
BEGIN CATCH
    SET @gone = CONCAT(N'error ', ERROR_NUMBER(), N', XACT_STATE ', XACT_STATE());
END CATCH;
IF @@TRANCOUNT > 0
    ROLLBACK TRANSACTION;
SET @observed = CONCAT(N'DI: ', @di, N'; gone: ', @gone);
SET @settles = CASE
    WHEN @di LIKE N'%XACT_STATE 1' AND @gone LIKE N'%XACT_STATE 1' THEN N'broker_error_dooms=false'
    WHEN @di LIKE N'%XACT_STATE -1' AND @gone LIKE N'%XACT_STATE -1'
        THEN N'broker_error_dooms=true' END;
SELECT
    N'F-131' AS Fact,
    N'Does a refused SEND leave its transaction usable with XACT_ABORT OFF?' AS Question,
    N'DI: error 8429, XACT_STATE 1; gone: error 8426, XACT_STATE 1' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_send_on_a_dead_dialog
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_send_on_a_dead_dialog;
GO
