/* F-271: ALTER DATABASE SET NEW_BROKER with an open dialog: do its endpoints vanish, or is
   each told by an Error message?
   Settles new_broker_conversations = removed | error.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_new_broker_conversations') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_new_broker_conversations;
GO
USE RedialProbe_new_broker_conversations;
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
DECLARE @endpoints int, @errors int;
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue), TIMEOUT 10000;
ALTER DATABASE RedialProbe_new_broker_conversations SET NEW_BROKER WITH ROLLBACK IMMEDIATE;
WAITFOR DELAY '00:00:03';
SELECT @endpoints = COUNT(*) FROM sys.conversation_endpoints AS e WHERE e.is_system = 0;
SELECT @errors = COUNT(*)
FROM (SELECT q.message_type_name FROM dbo.FromQueue AS q
      UNION ALL
      SELECT q.message_type_name FROM dbo.ToQueue AS q) AS m
WHERE m.message_type_name LIKE N'%/Error';
SET @observed = CONCAT(N'endpoints left: ', @endpoints,
    CASE WHEN @errors > 0 THEN CONCAT(N', Error messages: ', @errors) END);
SET @settles = CASE WHEN @errors > 0 THEN N'new_broker_conversations=error'
                    WHEN @endpoints = 0 THEN N'new_broker_conversations=removed' END;
SELECT
    N'F-271' AS Fact,
    N'ALTER DATABASE SET NEW_BROKER with an open dialog: do its endpoints vanish, or ' +
        N'is each told by an Error message?' AS Question,
    N'endpoints left: 0' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_new_broker_conversations
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_new_broker_conversations;
GO
