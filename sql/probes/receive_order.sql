/* F-269: Two groups of one priority with a message each: does RECEIVE take the one whose
   message is older, or the one with the lower group id?
   Settles receive_order = oldest | group.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_receive_order') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_receive_order;
GO
USE RedialProbe_receive_order;
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
DECLARE @high uniqueidentifier = 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF';
DECLARE @low uniqueidentifier = '00000000-0000-0000-0000-000000000001';
DECLARE @g uniqueidentifier, @n int = 0;
WHILE @n < 2                             /* the older answer belongs to the higher group id */
BEGIN
    SET @g = CASE @n WHEN 0 THEN @high ELSE @low END;
    BEGIN DIALOG CONVERSATION @h
        FROM SERVICE [//probe/from] TO SERVICE N'//probe/to'
        WITH RELATED_CONVERSATION_GROUP = @g, ENCRYPTION = OFF;
    SEND ON CONVERSATION @h (0x01);
    WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue), TIMEOUT 10000;
    SEND ON CONVERSATION @t (0x02);
    SET @n += 1;
END;
WAITFOR DELAY '00:00:02';
SET @g = NULL;
RECEIVE TOP (1) @g = conversation_group_id FROM dbo.FromQueue;
SET @observed = CASE @g WHEN @high THEN N'the older message'
                        WHEN @low THEN N'the lower group id' END;
SET @settles = CASE @g WHEN @high THEN N'receive_order=oldest'
                       WHEN @low THEN N'receive_order=group' END;
SELECT
    N'F-269' AS Fact,
    N'Two groups of one priority with a message each: does RECEIVE take the one whose ' +
        N'message is older, or the one with the lower group id?' AS Question,
    N'the older message' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_receive_order
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_receive_order;
GO
