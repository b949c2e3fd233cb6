SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* F-141: what are queuing_order and message_sequence_number of DialogTimer and Error
   rows, and in which order does RECEIVE give them?
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
BEGIN CONVERSATION TIMER (@h) TIMEOUT = 1;
SET @t = NULL;
WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.ProbeToQueue), TIMEOUT 10000;
SEND ON CONVERSATION @t (0x02);
SEND ON CONVERSATION @t (0x03);
END CONVERSATION @t WITH ERROR = 50999 DESCRIPTION = N'probe';
WAITFOR DELAY '00:00:03';
DECLARE @rows TABLE
(
    QueuingOrder bigint NULL,
    MessageSequence bigint NULL,
    MessageType nvarchar(256) NULL
);
DECLARE @received int = 1;
SET @observed = N'';
WHILE @received = 1
BEGIN
    DELETE FROM @rows;
    RECEIVE TOP (1) queuing_order, message_sequence_number, message_type_name
    FROM dbo.ProbeFromQueue INTO @rows;
    SET @received = @@ROWCOUNT;
    SELECT @observed = CONCAT(@observed, RIGHT(r.MessageType, 11), N' order ',
        ISNULL(CONVERT(nvarchar(20), r.QueuingOrder), N'NULL'), N' sequence ',
        ISNULL(CONVERT(nvarchar(20), r.MessageSequence), N'NULL'), N'; ')
    FROM @rows AS r;
END;
SELECT N'F-141' AS Fact, N'DialogTimer, then Error, then the two DEFAULT rows; orders distinct, none NULL' AS Expected, @observed AS Observed;
END CONVERSATION @h;
GO
DROP SERVICE [//probe/from];
DROP SERVICE [//probe/to];
DROP QUEUE dbo.ProbeFromQueue;
DROP QUEUE dbo.ProbeToQueue;
GO
