/* F-276: Does the body of an Error message begin with a byte order mark?
   Settles error_body_bom = true | false.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_error_body_bom') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_error_body_bom;
GO
USE RedialProbe_error_body_bom;
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
DECLARE @body varbinary(max);
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue), TIMEOUT 10000;
END CONVERSATION @t WITH ERROR = 50001 DESCRIPTION = N'probe';
WAITFOR (RECEIVE TOP (1) @body = message_body FROM dbo.FromQueue), TIMEOUT 10000;
SET @observed = CONVERT(nvarchar(10), SUBSTRING(@body, 1, 2), 1);
SET @settles = CASE @observed WHEN N'0xFFFE' THEN N'error_body_bom=true'
                              WHEN N'0x3C00' THEN N'error_body_bom=false' END;
SELECT
    N'F-276' AS Fact,
    N'Does the body of an Error message begin with a byte order mark?' AS Question,
    N'0xFFFE' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_error_body_bom
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_error_body_bom;
GO
