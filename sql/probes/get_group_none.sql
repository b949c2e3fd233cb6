/* F-267: GET CONVERSATION GROUP finds none: is its variable left alone or set to NULL?
   Settles get_group_none = unchanged | null.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_get_group_none') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_get_group_none;
GO
USE RedialProbe_get_group_none;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE QUEUE dbo.FromQueue;
CREATE QUEUE dbo.ToQueue;
CREATE SERVICE [//probe/from] ON QUEUE dbo.FromQueue ([DEFAULT]);
CREATE SERVICE [//probe/to] ON QUEUE dbo.ToQueue ([DEFAULT]);
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
DECLARE @before uniqueidentifier = NEWID();
DECLARE @g uniqueidentifier = @before;
GET CONVERSATION GROUP @g FROM dbo.ToQueue;
SET @observed = CASE WHEN @g IS NULL THEN N'NULL' WHEN @g = @before THEN N'left alone' END;
SET @settles = CASE @observed
    WHEN N'NULL' THEN N'get_group_none=null'
    WHEN N'left alone' THEN N'get_group_none=unchanged' END;
SELECT
    N'F-267' AS Fact,
    N'GET CONVERSATION GROUP finds none: is its variable left alone or set to NULL?' AS Question,
    N'left alone' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_get_group_none
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_get_group_none;
GO
