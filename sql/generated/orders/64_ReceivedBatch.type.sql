SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Rows of one RECEIVE, numbered in queue order, as usp_LandBatch and usp_FindPoison take them. */
IF NOT EXISTS (SELECT 1 FROM sys.table_types AS tt
               WHERE tt.schema_id = SCHEMA_ID(N'orders') AND tt.name = N'ReceivedBatch')
BEGIN
    CREATE TYPE [orders].[ReceivedBatch] AS TABLE
    (
        RowId int IDENTITY (1, 1) NOT NULL PRIMARY KEY CLUSTERED,
        MessageSequence bigint NOT NULL,
        MessageType nvarchar(256) NOT NULL,
        Body varbinary(max) NULL
    );
END;
GO
