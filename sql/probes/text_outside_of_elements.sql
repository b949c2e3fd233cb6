/* F-244: A message of type WELL_FORMED_XML whose body is text without an element: refused
   by an Error message, or received?
   Settles text_outside_of_elements = refused | accepted.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_text_outside_of_elements') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_text_outside_of_elements;
GO
USE RedialProbe_text_outside_of_elements;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE QUEUE dbo.FromQueue;
CREATE QUEUE dbo.ToQueue;
CREATE MESSAGE TYPE [//probe/xml] VALIDATION = WELL_FORMED_XML;
CREATE CONTRACT [//probe/contract] ([//probe/xml] SENT BY INITIATOR);
CREATE SERVICE [//probe/from] ON QUEUE dbo.FromQueue ([DEFAULT]);
CREATE SERVICE [//probe/to] ON QUEUE dbo.ToQueue ([//probe/contract]);
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
DECLARE @h uniqueidentifier, @t uniqueidentifier;
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to'
    ON CONTRACT [//probe/contract] WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h MESSAGE TYPE [//probe/xml] (N'only text');
WAITFOR DELAY '00:00:03';
SET @observed = CASE
    WHEN EXISTS (SELECT 1 FROM dbo.ToQueue AS q WHERE q.message_type_name = N'//probe/xml')
        THEN N'received'
    WHEN EXISTS (SELECT 1 FROM dbo.FromQueue AS q WHERE q.message_type_name LIKE N'%/Error')
        THEN N'refused' END;
SET @settles = CASE @observed WHEN N'received' THEN N'text_outside_of_elements=accepted'
                              WHEN N'refused' THEN N'text_outside_of_elements=refused' END;
SELECT
    N'F-244' AS Fact,
    N'A message of type WELL_FORMED_XML whose body is text without an element: refused' +
        N' by an Error message, or received?' AS Question,
    N'refused' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_text_outside_of_elements
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_text_outside_of_elements;
GO
