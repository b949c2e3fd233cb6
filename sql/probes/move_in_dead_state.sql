/* F-134: Can a conversation in state DI be moved to another group?
   Settles move_in_dead_state = allow | error.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_move_in_dead_state') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_move_in_dead_state;
GO
USE RedialProbe_move_in_dead_state;
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
DECLARE @other uniqueidentifier, @g uniqueidentifier;
BEGIN DIALOG CONVERSATION @other
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SELECT @g = e.conversation_group_id
FROM sys.conversation_endpoints AS e
WHERE e.conversation_handle = @other;
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue), TIMEOUT 10000;
END CONVERSATION @t;
WAITFOR DELAY '00:00:02';
BEGIN TRY
    MOVE CONVERSATION @h TO @g;
    SET @observed = N'moved';
END TRY
BEGIN CATCH
    SET @observed = CONCAT(N'error ', ERROR_NUMBER());
END CATCH;
SET @settles = CASE @observed
    WHEN N'moved' THEN N'move_in_dead_state=allow'
    WHEN N'error 8438' THEN N'move_in_dead_state=error' END;
SELECT
    N'F-134' AS Fact,
    N'Can a conversation in state DI be moved to another group?' AS Question,
    N'moved' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_move_in_dead_state
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_move_in_dead_state;
GO
