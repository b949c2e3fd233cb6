SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER FUNCTION [logging].[ufn_QueuePages]()
RETURNS @pages TABLE
(
    QueueName nvarchar(128) NOT NULL,
    Pages bigint NULL,                      /* of the rows; bodies of more than 8,000 bytes lie elsewhere */
    FragmentationPercent float NULL
)
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* How many pages each queue takes, and how far they are out of order. Mode LIMITED reads the pages above
   the leaves only: no message, and no lock but an intent lock on the table (F-501). Records and ghosts are
   not counted in that mode; but no page holds less than one row, so far more pages than messages are ghosts
   or empty. A function of its own: where the right to ask is missing, the others still answer. */
BEGIN
    INSERT INTO @pages (QueueName, Pages, FragmentationPercent)
    SELECT q.name, ps.page_count, ps.avg_fragmentation_in_percent
    FROM sys.service_queues AS q
    CROSS APPLY sys.dm_db_index_physical_stats(DB_ID(), q.object_id, 1, NULL, N'LIMITED') AS ps
    WHERE q.object_id IN (OBJECT_ID(N'[logging].[InitiatorQueue]', N'SQ'), OBJECT_ID(N'[logging].[TargetQueue]', N'SQ'))
      AND ps.alloc_unit_type_desc = N'IN_ROW_DATA';

    RETURN;
END;
GO
