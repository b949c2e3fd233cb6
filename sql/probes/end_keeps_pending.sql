/* F-108: Plain END of a dialog whose messages wait in sys.transmission_queue: do they still
   wait, or are they gone?
   Settles end_keeps_pending = true | false.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_end_keeps_pending') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_end_keeps_pending;
GO
USE RedialProbe_end_keeps_pending;
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
DECLARE @waiting int;
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/nobody' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
WAITFOR DELAY '00:00:02';
END CONVERSATION @h;
WAITFOR DELAY '00:00:02';
SELECT @waiting = COUNT(*)
FROM sys.transmission_queue AS q
WHERE q.conversation_handle = @h AND q.is_end_of_dialog = 0;
SET @observed = CONCAT(N'still waiting: ', @waiting);
SET @settles = CASE @waiting WHEN 1 THEN N'end_keeps_pending=true'
                             WHEN 0 THEN N'end_keeps_pending=false' END;
SELECT
    N'F-108' AS Fact,
    N'Plain END of a dialog whose messages wait in sys.transmission_queue: do they ' +
        N'still wait, or are they gone?' AS Question,
    N'still waiting: 1' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_end_keeps_pending
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_end_keeps_pending;
GO
