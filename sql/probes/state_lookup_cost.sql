SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* F-126: does a look-up of sys.conversation_endpoints by handle seek, or read every
   endpoint? usp_Send makes one per message.
   Run in a scratch database with Service Broker on; it cleans up after itself.
   Read the Messages tab. DROP SERVICE at the end removes the 5,000 endpoints. */
CREATE QUEUE dbo.ProbeFromQueue;
CREATE QUEUE dbo.ProbeToQueue;
CREATE SERVICE [//probe/from] ON QUEUE dbo.ProbeFromQueue;
CREATE SERVICE [//probe/to] ON QUEUE dbo.ProbeToQueue ([DEFAULT]);
GO
DECLARE @h uniqueidentifier;
DECLARE @t uniqueidentifier;
DECLARE @observed nvarchar(200);
DECLARE @n int = 0;
SET NOCOUNT ON;
WHILE @n < 5000
BEGIN
    SET @n = @n + 1;
    BEGIN DIALOG CONVERSATION @h
        FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
END;
DECLARE @state char(2);
SELECT @state = e.state FROM sys.conversation_endpoints AS e WITH (NOLOCK) WHERE e.conversation_handle = @h;
SELECT N'F-126' AS Fact, N'look at the plan: STATISTICS IO below, a handful of reads' AS Expected, @state AS Observed;
SET STATISTICS IO ON;
SELECT e.state FROM sys.conversation_endpoints AS e WITH (NOLOCK) WHERE e.conversation_handle = @h;
SET STATISTICS IO OFF;
GO
DROP SERVICE [//probe/from];
DROP SERVICE [//probe/to];
DROP QUEUE dbo.ProbeFromQueue;
DROP QUEUE dbo.ProbeToQueue;
GO
