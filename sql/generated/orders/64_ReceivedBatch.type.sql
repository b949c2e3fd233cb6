SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Rows of one RECEIVE, numbered in queue order, as usp_LandBatch and usp_FindPoison take them. */
IF NOT EXISTS (SELECT 1 FROM sys.table_types AS tt
               WHERE tt.schema_id = SCHEMA_ID(N'orders') AND tt.name = N'ReceivedBatch')
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE TYPE [orders].[ReceivedBatch] AS TABLE
    (
        RowId int IDENTITY (1, 1) NOT NULL PRIMARY KEY CLUSTERED,
        MessageSequence bigint NOT NULL,
        MessageType nvarchar(256) NOT NULL,
        Body varbinary(max) NULL
    );
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'orders',
        @level0type = N'SCHEMA', @level0name = N'orders', @level1type = N'TYPE', @level1name = N'ReceivedBatch';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
