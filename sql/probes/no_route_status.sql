/* F-272: No route matches the service: which text has transmission_status?
   Settles no_route_status = 9750 | 9793.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_no_route_status') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_no_route_status;
GO
USE RedialProbe_no_route_status;
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
DROP ROUTE AutoCreatedLocal;
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/nobody' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
WAITFOR DELAY '00:00:03';
SELECT @observed = q.transmission_status
FROM sys.transmission_queue AS q
WHERE q.conversation_handle = @h;
SET @settles = CASE
    WHEN @observed LIKE N'No route matches%' THEN N'no_route_status=9750'
    WHEN @observed LIKE N'The target service name could not be found%'
        THEN N'no_route_status=9793' END;
IF @observed LIKE N'No route matches%'
    SET @observed = N'text of message 9750';
SELECT
    N'F-272' AS Fact,
    N'No route matches the service: which text has transmission_status?' AS Question,
    N'text of message 9750' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_no_route_status
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_no_route_status;
GO
