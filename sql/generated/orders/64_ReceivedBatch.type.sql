SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Rows of one RECEIVE, numbered in queue order, as usp_LandBatch and usp_FindPoison take them. */
SET XACT_ABORT ON;
IF NOT EXISTS (SELECT 1 FROM sys.table_types AS tt
               WHERE tt.schema_id = SCHEMA_ID(N'orders') AND tt.name = N'ReceivedBatch')
BEGIN
    BEGIN TRANSACTION;
    CREATE TYPE [orders].[ReceivedBatch] AS TABLE
    (
        RowId int IDENTITY (1, 1) NOT NULL PRIMARY KEY CLUSTERED,
        MessageSequence bigint NOT NULL,
        MessageType nvarchar(256) NOT NULL,
        Body varbinary(max) NULL
    );
    EXECUTE [orders].[usp_Mark] N'TYPE', N'ReceivedBatch';
    COMMIT TRANSACTION;
END;
GO
