/* F-223: OPENJSON .. WITH (a nvarchar(3)) of a text of six characters: cut, or NULL?
   Settles openjson_too_long = cut | null.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_openjson_too_long') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_openjson_too_long;
GO
USE RedialProbe_openjson_too_long;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
SELECT @observed = COALESCE(j.a, N'NULL')
FROM OPENJSON(N'{"a":"abcdef"}') WITH (a nvarchar(3)) AS j;
SET @settles = CASE @observed WHEN N'abc' THEN N'openjson_too_long=cut'
                              WHEN N'NULL' THEN N'openjson_too_long=null' END;
SELECT
    N'F-223' AS Fact,
    N'OPENJSON .. WITH (a nvarchar(3)) of a text of six characters: cut, or NULL?' AS Question,
    N'abc' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_openjson_too_long
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_openjson_too_long;
GO
