/* F-278: Which state have the errors of Service Broker verbs?
   Settles broker_error_state = 1 | 2.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_broker_error_state') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_broker_error_state;
GO
USE RedialProbe_broker_error_state;
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
DECLARE @a int, @b int, @c int;
SET @h = NEWID();
BEGIN TRY
    SEND ON CONVERSATION @h (0x01);
END TRY
BEGIN CATCH
    SELECT @observed = CONCAT(ERROR_NUMBER(), N' state ', ERROR_STATE()), @a = ERROR_STATE();
END CATCH;
SET @h = NULL;
BEGIN TRY
    SEND ON CONVERSATION @h (0x01);
END TRY
BEGIN CATCH
    SELECT @observed = CONCAT(@observed, N', ', ERROR_NUMBER(), N' state ', ERROR_STATE()),
        @b = ERROR_STATE();
END CATCH;
DECLARE @service sysname = N'//probe/nobody';
BEGIN TRY
    BEGIN DIALOG CONVERSATION @h
        FROM SERVICE @service TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
END TRY
BEGIN CATCH
    SELECT @observed = CONCAT(@observed, N', ', ERROR_NUMBER(), N' state ', ERROR_STATE()),
        @c = ERROR_STATE();
END CATCH;
IF @a = @b AND @b = @c
    SET @settles = CONCAT(N'broker_error_state=', @a);
SELECT
    N'F-278' AS Fact,
    N'Which state have the errors of Service Broker verbs?' AS Question,
    N'8426 state 1, 8418 state 1, 8423 state 1' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_broker_error_state
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_broker_error_state;
GO
