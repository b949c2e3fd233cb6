SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* F-131: does a refused SEND leave its transaction usable with XACT_ABORT OFF?
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
    SEND ON CONVERSATION @h (0x02);
    SET @observed = N'accepted';
END TRY
BEGIN CATCH
    SET @observed = CONCAT(N'error ', ERROR_NUMBER(), N', XACT_STATE ', XACT_STATE());
END CATCH;
IF @@TRANCOUNT > 0
    ROLLBACK TRANSACTION;
SET @observed = CONCAT(N'DI: ', @observed);
END CONVERSATION @h;
DECLARE @di nvarchar(200) = @observed;
SET XACT_ABORT OFF;
BEGIN TRANSACTION;
BEGIN TRY
    SEND ON CONVERSATION @h (0x03);
    SET @observed = N'accepted';
END TRY
BEGIN CATCH
    SET @observed = CONCAT(N'error ', ERROR_NUMBER(), N', XACT_STATE ', XACT_STATE());
END CATCH;
IF @@TRANCOUNT > 0
    ROLLBACK TRANSACTION;
SELECT N'F-131' AS Fact, N'DI: error 8429, XACT_STATE 1; gone: error 8426, XACT_STATE 1' AS Expected, CONCAT(@di, N'; gone: ', @observed) AS Observed;
GO
DROP SERVICE [//probe/from];
DROP SERVICE [//probe/to];
DROP QUEUE dbo.ProbeFromQueue;
DROP QUEUE dbo.ProbeToQueue;
GO
