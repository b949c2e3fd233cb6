/* F-118: Two conversations, three rollbacks each in turn: is the queue off (five in a row
   of the queue), or on (no message had five)?
   Settles poison_counts = queue | message.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_poison_counts') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_poison_counts;
GO
USE RedialProbe_poison_counts;
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
DECLARE @a uniqueidentifier, @b uniqueidentifier, @round int = 0;
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
WAITFOR DELAY '00:00:01';
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x02);
WAITFOR DELAY '00:00:01';
SELECT @a = MIN(CONVERT(char(36), e.conversation_handle)),
    @b = MAX(CONVERT(char(36), e.conversation_handle))
FROM sys.conversation_endpoints AS e
WHERE e.is_initiator = 0;
WHILE @round < 6
BEGIN
    SET @round += 1;
    SET @h = CASE @round % 2 WHEN 0 THEN @a ELSE @b END;
    BEGIN TRY
        BEGIN TRANSACTION;
        RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue WHERE conversation_handle = @h;
        ROLLBACK TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        BREAK;
    END CATCH;
END;
WAITFOR DELAY '00:00:03';
SELECT @observed = CASE q.is_receive_enabled WHEN 1 THEN N'on' ELSE N'off' END
FROM sys.service_queues AS q
WHERE q.name = N'ToQueue';
SET @settles = CASE @observed WHEN N'off' THEN N'poison_counts=queue'
                              ELSE N'poison_counts=message' END;
SELECT
    N'F-118' AS Fact,
    N'Two conversations, three rollbacks each in turn: is the queue off (five in a row' +
        N' of the queue), or on (no message had five)?' AS Question,
    N'off' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_poison_counts
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_poison_counts;
GO
