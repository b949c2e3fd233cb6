/* F-265: BEGIN CONVERSATION TIMER with TIMEOUT = 0 and = -1: an error, or due at once?
   Settles timer_zero = error | now.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_timer_zero') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_timer_zero;
GO
USE RedialProbe_timer_zero;
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
DECLARE @zero nvarchar(100), @negative nvarchar(100);
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
BEGIN TRY
    BEGIN CONVERSATION TIMER (@h) TIMEOUT = 0;
    WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.FromQueue), TIMEOUT 5000;
    SET @zero = CASE WHEN @t IS NULL THEN N'nothing in 5 s' ELSE N'due at once' END;
END TRY
BEGIN CATCH
    SET @zero = CONCAT(N'error ', ERROR_NUMBER());
END CATCH;
SET @t = NULL;
BEGIN TRY
    BEGIN CONVERSATION TIMER (@h) TIMEOUT = -1;
    WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.FromQueue), TIMEOUT 5000;
    SET @negative = CASE WHEN @t IS NULL THEN N'nothing in 5 s' ELSE N'due at once' END;
END TRY
BEGIN CATCH
    SET @negative = CONCAT(N'error ', ERROR_NUMBER());
END CATCH;
SET @observed = CONCAT(N'0: ', @zero, N'; -1: ', @negative);
SET @settles = CASE
    WHEN @zero LIKE N'error%' AND @negative LIKE N'error%' THEN N'timer_zero=error'
    WHEN @zero = N'due at once' AND @negative = N'due at once' THEN N'timer_zero=now' END;
SELECT
    N'F-265' AS Fact,
    N'BEGIN CONVERSATION TIMER with TIMEOUT = 0 and = -1: an error, or due at once?' AS Question,
    N'0: error 8410; -1: error 8410' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_timer_zero
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_timer_zero;
GO
