/* F-376: Which collation have the name columns of sys.services and its kin?
   Settles broker_names = binary | database.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_broker_names') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_broker_names COLLATE SQL_Latin1_General_CP1_CI_AS;
GO
USE RedialProbe_broker_names;
GO
CREATE QUEUE dbo.ProbeQueue;
CREATE SERVICE [//probe/Name] ON QUEUE dbo.ProbeQueue;
GO
/* One name, asked for in another case: a comparison with a literal takes the column's collation. */
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
IF EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name = N'//PROBE/NAME')
    SELECT @observed = N'found in another case: yes', @settles = N'broker_names=database';
ELSE
    SELECT @observed = N'found in another case: no', @settles = N'broker_names=binary';
SELECT
    N'F-376' AS Fact,
    N'Which collation have the name columns of sys.services and its kin?' AS Question,
    N'found in another case: no' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_broker_names
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_broker_names;
GO
