SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Objects this configuration created that cannot carry a mark (20_security/marks.inc.j2): Agent jobs,
   broker priorities. Uninstall drops these and nothing else of their kinds. Versions before the marks
   listed services, the contract and message types here too; migration 4 moved them. */
IF OBJECT_ID(N'[etl].[OwnedObject]', N'U') IS NULL
BEGIN
    CREATE TABLE [etl].[OwnedObject]
    (
        Kind nvarchar(30) NOT NULL,
        Name nvarchar(128) NOT NULL,
        CreatedUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_OwnedObject_CreatedUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_OwnedObject] PRIMARY KEY CLUSTERED (Kind, Name)
    );
END;
GO
