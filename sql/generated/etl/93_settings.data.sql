SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* The choices installed from here on, and the gate that 38_change has closed, in one transaction: a
   deployment that stops before it is still the change of choices it was. Changes only what differs. */
SET XACT_ABORT ON;

DECLARE @wanted TABLE (Name nvarchar(60) NOT NULL PRIMARY KEY, Value nvarchar(400) NOT NULL, Drains bit NOT NULL);
INSERT INTO @wanted (Name, Value, Drains)
VALUES
    (N'config_id', N'1', 1),
    (N'conversation.key', N'pool', 1),
    (N'conversation.recycle', N'aged_out', 1),
    (N'conversation.timer_strategy', N'two_phase', 1),
    (N'conversation.order', N'conversation', 1),
    (N'conversation.delivery', N'exactly_once', 1),
    (N'conversation.copies', N'until_landed', 1),
    (N'envelope.who', N'0', 1),
    (N'contract.end_of_stream', N'EndOfStream', 1),
    (N'services.initiator', N'//redial/etl/initiator', 1),
    (N'services.target', N'//redial/etl/target', 1),
    (N'queues.initiator', N'InitiatorQueue', 1),
    (N'queues.target', N'TargetQueue', 1),
    (N'target.database', N'', 1),
    (N'pool.size', N'16', 0),
    (N'target.processing', N'land', 0),
    (N'conversation.encryption', N'0', 0),
    (N'conversation.lifetime_seconds', N'604800', 0),
    (N'contract.name', N'//redial/etl/contract', 0),
    (N'roles.module', N'etl_module', 0);

BEGIN TRANSACTION;
UPDATE st
SET Value = w.Value, ChangedUtc = SYSUTCDATETIME()
FROM [etl].[Setting] AS st
INNER JOIN @wanted AS w ON w.Name = st.Name
WHERE st.Value IS NULL OR st.Value <> w.Value COLLATE Latin1_General_BIN2;   /* as 38_change compares (F-376) */

INSERT INTO [etl].[Setting] (Name, Value)
SELECT w.Name, w.Value
FROM @wanted AS w
WHERE NOT EXISTS (SELECT 1 FROM [etl].[Setting] AS st WHERE st.Name = w.Name);

IF EXISTS (SELECT 1 FROM [etl].[Setting] AS st WHERE st.Name = N'deployment.gate')
BEGIN
    /* The gate first and its mark then, in the order of usp_OpenGate: else they could deadlock. */
    UPDATE g
    SET IsOpen = 1, ChangedUtc = SYSUTCDATETIME(), ChangedBy = ORIGINAL_LOGIN(), Reason = N'deployment finished'
    FROM [etl].[Gate] AS g
    WHERE g.ConfigId = 1;
    DELETE FROM [etl].[Setting] WHERE Name = N'deployment.gate';
END;
COMMIT TRANSACTION;
GO
