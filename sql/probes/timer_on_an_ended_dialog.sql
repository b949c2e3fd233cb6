SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* F-134: is BEGIN CONVERSATION TIMER accepted on an endpoint in state DI, and does a
   refusal doom its transaction?
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
SET @t = NULL;
WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.ProbeToQueue), TIMEOUT 10000;
END CONVERSATION @t;
WAITFOR DELAY '00:00:02';
SET XACT_ABORT OFF;
BEGIN TRANSACTION;
BEGIN TRY
    BEGIN CONVERSATION TIMER (@h) TIMEOUT = 3600;
    SET @observed = N'accepted';
END TRY
BEGIN CATCH
    SET @observed = CONCAT(N'error ', ERROR_NUMBER(), N', XACT_STATE ', XACT_STATE());
END CATCH;
IF @@TRANCOUNT > 0
    ROLLBACK TRANSACTION;
SELECT N'F-134' AS Fact, N'accepted, or error 8458, XACT_STATE 1' AS Expected, @observed AS Observed;
END CONVERSATION @h;
GO
DROP SERVICE [//probe/from];
DROP SERVICE [//probe/to];
DROP QUEUE dbo.ProbeFromQueue;
DROP QUEUE dbo.ProbeToQueue;
GO
