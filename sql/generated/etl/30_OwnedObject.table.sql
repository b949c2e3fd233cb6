SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Objects this configuration created that cannot carry a mark (20_security/marks.inc.j2): Agent jobs,
   broker priorities. Uninstall drops these and nothing else of their kinds. Versions before the marks
   listed services, the contract and message types here too; migration 4 moved them. */
IF OBJECT_ID(N'[etl].[OwnedObject]', N'U') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[OwnedObject]
    (
        Kind nvarchar(30) NOT NULL,
        Name nvarchar(128) NOT NULL,
        CreatedUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_OwnedObject_CreatedUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_OwnedObject] PRIMARY KEY CLUSTERED (Kind, Name)
    );
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'etl',
        @level0type = N'SCHEMA', @level0name = N'etl', @level1type = N'TABLE', @level1name = N'OwnedObject';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
