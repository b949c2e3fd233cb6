SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* What usp_RetireIdle saw: how far each dialog had come, and since when it has not moved. So that no
   send has to write down when it was: the server counts a dialog's messages anyway (F-171). Only
   usp_RetireIdle reads and writes it. */
IF OBJECT_ID(N'[etl].[IdleWatch]', N'U') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[IdleWatch]
    (
        Handle uniqueidentifier NOT NULL,
        SendSequence bigint NOT NULL,
        SinceUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_IdleWatch_SinceUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_IdleWatch] PRIMARY KEY CLUSTERED (Handle)
    );
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'etl',
        @level0type = N'SCHEMA', @level0name = N'etl', @level1type = N'TABLE', @level1name = N'IdleWatch';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
