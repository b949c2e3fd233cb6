SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_LogError]
    @procedureName nvarchar(128),
    @handle uniqueidentifier = NULL,    /* the conversation it happened on, if any */
    @sequence bigint = NULL,            /* of the message it happened with, if any */
    @message nvarchar(4000) = NULL      /* NULL: the error of the CATCH block this is called from */
AS
/* Redial 0.1.0, configuration etl */
BEGIN
    SET NOCOUNT ON;

    INSERT INTO [etl].[ErrorLog]
        (ProcedureName, ConversationHandle, MessageSequence, ErrorNumber, ErrorLine, ErrorMessage)
    VALUES
        (@procedureName, @handle, @sequence, ERROR_NUMBER(), ERROR_LINE(), ISNULL(@message, ERROR_MESSAGE()));
END;
GO
