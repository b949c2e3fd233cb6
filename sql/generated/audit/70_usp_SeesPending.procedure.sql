SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_SeesPending]
    @sees bit OUTPUT                    /* 1: rows of sys.transmission_queue are shown to us, 0: hidden */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* sys.transmission_queue is filtered by this very function (F-113). Asked here by a deployment (50201) and
   by verify: whether a signature counts in it is unknown (F-180). */
BEGIN
    SET NOCOUNT ON;

    SET @sees = ISNULL(IS_MEMBER(N'db_owner'), 0);
END;
GO
