SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Database-wide objects this configuration created (services, contract, message types have no
   schema). Uninstall drops these and nothing else. */
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
