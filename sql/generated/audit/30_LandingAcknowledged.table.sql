SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* How far each reader of Landing has got: rows below the least of these marks may be purged. UpTo is
   a mark as readers take it (rows with RowVersion < UpTo are done with), not the last row read. Reader
   usp_PurgeLanding is the purge itself: rows below its mark may be gone, which a reader compares. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[audit].[LandingAcknowledged]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [audit].[LandingAcknowledged]
    (
        Reader nvarchar(128) NOT NULL,
        UpTo binary(8) NOT NULL,
        ChangedUtc datetime2(3) NOT NULL CONSTRAINT [DF_LandingAcknowledged_ChangedUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_LandingAcknowledged] PRIMARY KEY CLUSTERED (Reader)
    );
    EXECUTE [audit].[usp_Mark] N'TABLE', N'LandingAcknowledged';
    COMMIT TRANSACTION;
END;
GO
