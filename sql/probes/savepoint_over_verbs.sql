/* F-333: A transaction ENDs one dialog, begins another and sends on it, and rolls back to a savepoint before all that.
   Then it sends on the first dialog and commits. Is the first open, is the second gone, does one message arrive?
   Settles savepoint_over_verbs = undone | refused.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_savepoint_over_verbs') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_savepoint_over_verbs;
GO
USE RedialProbe_savepoint_over_verbs;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE QUEUE dbo.FromQueue;
CREATE QUEUE dbo.ToQueue;
CREATE SERVICE [//probe/from] ON QUEUE dbo.FromQueue ([DEFAULT]);
CREATE SERVICE [//probe/to] ON QUEUE dbo.ToQueue ([DEFAULT]);
GO
DECLARE @observed nvarchar(4000);
DECLARE @h uniqueidentifier;
DECLARE @other uniqueidentifier;
DECLARE @arrived int;
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
SET XACT_ABORT OFF;
BEGIN TRANSACTION;
SAVE TRANSACTION here;
END CONVERSATION @h;
BEGIN DIALOG CONVERSATION @other
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @other (0x02);
BEGIN TRY
    ROLLBACK TRANSACTION here;
    SEND ON CONVERSATION @h (0x03);
    COMMIT TRANSACTION;
    WAITFOR DELAY '00:00:02';
    SET @arrived = (SELECT COUNT(*) FROM dbo.ToQueue);
    SET @observed = CONCAT(N'arrived ', @arrived, N', of the second dialog ',
        (SELECT COUNT(*) FROM sys.conversation_endpoints AS ce WHERE ce.conversation_handle = @other));
END TRY
BEGIN CATCH
    SET @observed = CASE WHEN XACT_STATE() = -1 THEN N'doomed' ELSE CONCAT(N'error ', ERROR_NUMBER()) END;
END CATCH;
IF @@TRANCOUNT > 0
    ROLLBACK TRANSACTION;
SELECT
    N'F-333' AS Fact,
    N'ROLLBACK to a savepoint over END, BEGIN DIALOG and SEND: is it taken back, so that two messages of the' +
        N' first dialog arrive and the second is gone?' AS Question,
    N'arrived 2, of the second dialog 0' AS Expected,
    @observed AS Observed,
    CONVERT(nvarchar(400), CASE @observed
        WHEN N'arrived 2, of the second dialog 0' THEN N'savepoint_over_verbs=undone'
        WHEN N'doomed' THEN N'savepoint_over_verbs=refused' END) AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_savepoint_over_verbs
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_savepoint_over_verbs;
GO
