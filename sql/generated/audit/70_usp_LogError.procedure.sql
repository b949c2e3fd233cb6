SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_LogError]
    @procedureName nvarchar(128),
    @handle uniqueidentifier = NULL,    /* the conversation it happened on, if any */
    @sequence bigint = NULL,            /* of the message it happened with, if any */
    @message nvarchar(4000) = NULL      /* NULL: the error of the CATCH block this is called from */
AS
/* Redial 0.1.0, configuration audit */
BEGIN
    SET NOCOUNT ON;

    DECLARE @number int = ERROR_NUMBER(), @line int = ERROR_LINE();
    SET @message = ISNULL(@message, ERROR_MESSAGE());

    BEGIN TRY
        INSERT INTO [audit].[ErrorLog]
            (ProcedureName, ConversationHandle, MessageSequence, ErrorNumber, ErrorLine, ErrorMessage)
        VALUES
            (@procedureName, @handle, @sequence, @number, @line, @message);
    END TRY
    BEGIN CATCH
        /* No room for a line (1105, 9002), say. Who logs goes on; only who has work open must know. */
        IF @@TRANCOUNT > 0
            THROW;
    END CATCH;
END;
GO
