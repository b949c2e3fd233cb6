/* F-260: Is a message in the target's queue before its sender commits, and may the sender
   receive it?
   Settles enqueue_at = send | commit; own_message_visible = true | false.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_own_message') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_own_message;
GO
USE RedialProbe_own_message;
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
DECLARE @stored int, @received int;
BEGIN TRANSACTION;
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
SELECT @stored = COUNT(*) FROM dbo.ToQueue WITH (NOLOCK);
RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue;
SET @received = @@ROWCOUNT;
ROLLBACK TRANSACTION;
SET @observed = CONCAT(N'in the queue before the commit: ', @stored,
    N'; received by its sender: ', @received);
SET @settles = CASE
    WHEN @stored = 0 THEN N'enqueue_at=commit'
    WHEN @received = 1 THEN N'enqueue_at=send; own_message_visible=true'
    ELSE N'enqueue_at=send; own_message_visible=false' END;
SELECT
    N'F-260' AS Fact,
    N'Is a message in the target''s queue before its sender commits, and may the ' +
        N'sender receive it?' AS Question,
    N'in the queue before the commit: 1; received by its sender: 1' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_own_message
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_own_message;
GO
