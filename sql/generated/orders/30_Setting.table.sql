SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* The choices installed now: what a later deployment compares itself with. */
IF OBJECT_ID(N'[orders].[Setting]', N'U') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE TABLE [orders].[Setting]
    (
        Name nvarchar(60) NOT NULL,
        Value nvarchar(400) NULL,
        ChangedUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_Setting_ChangedUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_Setting] PRIMARY KEY CLUSTERED (Name)
    );
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'orders',
        @level0type = N'SCHEMA', @level0name = N'orders', @level1type = N'TABLE', @level1name = N'Setting';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
