SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* F-118: is it five rollbacks in a row, or five in all? Does a commit in between reset
   the count?
   Run in a scratch database with Service Broker on; it cleans up after itself. */
CREATE QUEUE dbo.ProbeFromQueue;
CREATE QUEUE dbo.ProbeToQueue;
CREATE SERVICE [//probe/from] ON QUEUE dbo.ProbeFromQueue;
CREATE SERVICE [//probe/to] ON QUEUE dbo.ProbeToQueue ([DEFAULT]);
GO
DECLARE @h uniqueidentifier;
DECLARE @t uniqueidentifier;
DECLARE @observed nvarchar(200);
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
SEND ON CONVERSATION @h (0x02);
DECLARE @round int = 0;
WHILE @round < 12                       /* 4 rollbacks, 1 commit, 4 rollbacks, 1 commit ... */
BEGIN
    SET @round = @round + 1;
    BEGIN TRY
        BEGIN TRANSACTION;
        WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.ProbeToQueue), TIMEOUT 2000;
        IF @round % 5 = 0
        BEGIN
            SEND ON CONVERSATION @h (0x03);
            COMMIT TRANSACTION;
        END
        ELSE
            ROLLBACK TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        SET @observed = CONCAT(N'error ', ERROR_NUMBER(), N' in round ', @round);
        BREAK;
    END CATCH;
END;
WAITFOR DELAY '00:00:03';               /* a background task switches it off */
SET @observed = CONCAT(ISNULL(@observed + N', ', N''), N'queue is ',
    (SELECT CASE q.is_receive_enabled WHEN 1 THEN N'on' ELSE N'off' END
     FROM sys.service_queues AS q WHERE q.name = N'ProbeToQueue'));
SELECT N'F-118' AS Fact, N'queue is on (a commit resets the count)' AS Expected, @observed AS Observed;
END CONVERSATION @h WITH CLEANUP;
GO
DROP SERVICE [//probe/from];
DROP SERVICE [//probe/to];
DROP QUEUE dbo.ProbeFromQueue;
DROP QUEUE dbo.ProbeToQueue;
GO
