SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Which numbered migrations (35_) have changed the tables of this schema. */
IF OBJECT_ID(N'[audit].[Migration]', N'U') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE TABLE [audit].[Migration]
    (
        Number int NOT NULL,
        Name nvarchar(128) NOT NULL,
        AppliedUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_Migration_AppliedUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_Migration] PRIMARY KEY CLUSTERED (Number)
    );
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit',
        @level0type = N'SCHEMA', @level0name = N'audit', @level1type = N'TABLE', @level1name = N'Migration';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
