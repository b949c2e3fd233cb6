SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* How far each reader of Landing has got: rows below the least of these marks may be purged. UpTo is
   a mark as readers take it (rows with RowVersion < UpTo are done with), not the last row read. */
IF OBJECT_ID(N'[etl].[LandingAcknowledged]', N'U') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[LandingAcknowledged]
    (
        Reader nvarchar(128) NOT NULL,
        UpTo binary(8) NOT NULL,
        ChangedUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_LandingAcknowledged_ChangedUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_LandingAcknowledged] PRIMARY KEY CLUSTERED (Reader)
    );
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'etl',
        @level0type = N'SCHEMA', @level0name = N'etl', @level1type = N'TABLE', @level1name = N'LandingAcknowledged';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
