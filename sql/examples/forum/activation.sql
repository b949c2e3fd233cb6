/* The poster gives his queue ten readers; one is enough for his deadlock. */
USE Forum;
GO
ALTER QUEUE [dbo].[InitiatorQueue]
    WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = [dbo].[usp_InitiatorQueueHandler],
                     MAX_QUEUE_READERS = 1, EXECUTE AS OWNER);
ALTER QUEUE [dbo].[TargetQueue]
    WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = [dbo].[usp_Target],
                     MAX_QUEUE_READERS = 1, EXECUTE AS OWNER);
GO
