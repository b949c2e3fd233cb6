SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Which numbered migrations (35_) have changed the tables of this schema. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[audit].[Migration]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [audit].[Migration]
    (
        Number int NOT NULL,
        Name nvarchar(128) NOT NULL,
        AppliedUtc datetime2(3) NOT NULL CONSTRAINT [DF_Migration_AppliedUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_Migration] PRIMARY KEY CLUSTERED (Number)
    );
    EXECUTE [audit].[usp_Mark] N'TABLE', N'Migration';
    COMMIT TRANSACTION;
END;
GO
