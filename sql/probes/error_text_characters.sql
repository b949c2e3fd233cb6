/* F-276: How does an Error message carry a character that XML may not hold?
   Settles error_text_characters = as given | reference.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_error_text_characters') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_error_text_characters;
GO
USE RedialProbe_error_text_characters;
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
DECLARE @text nvarchar(3000) = N'[' + NCHAR(1) + N']';
DECLARE @found nvarchar(max);
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue), TIMEOUT 10000;
END CONVERSATION @t WITH ERROR = 50001 DESCRIPTION = @text;
WAITFOR (RECEIVE TOP (1) @body = message_body FROM dbo.FromQueue), TIMEOUT 10000;
SET @found = CONVERT(nvarchar(max), @body);
SET @found = SUBSTRING(@found, CHARINDEX(N'[', @found), CHARINDEX(N']', @found) - CHARINDEX(N'[', @found) + 1);
SET @observed = CONCAT(CONVERT(nvarchar(100), CONVERT(varbinary(40), @found), 1),
    CASE WHEN TRY_CONVERT(xml, @body) IS NULL THEN N', no XML' ELSE N', XML' END);
SET @settles = CASE @observed WHEN N'0x5B0001005D00, no XML' THEN N'error_text_characters=as given'
                              WHEN N'0x5B0026002300780031003B005D00, no XML' THEN N'error_text_characters=reference' END;
SELECT
    N'F-276' AS Fact,
    N'How does an Error message carry a character that XML may not hold?' AS Question,
    N'0x5B0001005D00, no XML' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_error_text_characters
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_error_text_characters;
GO
