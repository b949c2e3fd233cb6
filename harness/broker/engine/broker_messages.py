"""Service Broker's messages by number; ``messages.MESSAGES`` includes them.

Texts are those of the errors-events pages, apostrophes and spelling kept ("INTITIATOR" is the
server's). Numbers of severity 10 appear as transmission_status or in the ERRORLOG only.
"""

from __future__ import annotations

BROKER_MESSAGES: dict[int, tuple[int, str]] = {
    3716: (16, "The %s '%s' cannot be dropped because it is bound to one or more %s."),
    8402: (16, "The data type of the '%s' in the '%s' statement must be %s. The %s data type is "
               "not allowed."),
    8403: (16, "The message type '%s' is specified more than once. Remove the duplicate message "
               "type."),
    8404: (16, "The service contract '%s' is specified more than once. Remove the duplicate "
               "service contract."),
    8406: (16, "The dialog lifetime can not be NULL. Specify a valid dialog lifetime value from %d "
               "to %d."),
    8408: (16, "Target service '%s' does not support contract '%s'."),
    8410: (16, "The conversation timer cannot be set beyond the conversation's lifetime."),
    8411: (16, "The dialog lifetime value of %d is outside the allowable range of %d to %d. "
               "Specify a valid dialog lifetime value."),
    8412: (16, "The syntax of the service name '%s' is invalid."),
    8413: (16, "The syntax of the broker instance '%s' is invalid. The specified broker instance "
               "is too long, the maximum size is 256 bytes."),
    8414: (16, "The conversation group ID '%s' is invalid in this context. Specify a different "
               "conversion group ID."),
    8415: (16, "The activated task was aborted because the invoked stored procedure '%s' did not "
               "issue COMMIT or ROLLBACK on one or more transactions that it begun."),
    8417: (16, "The service contract name is NULL. Specify a service contract name."),
    8418: (16, "The conversation handle is missing. Specify a conversation handle."),
    8419: (16, "Both the error code and the description must be provided for END CONVERSATION "
               "WITH ERROR. Neither value can be NULL."),
    8420: (16, "The conversation group is missing. Specify a conversation group."),
    8421: (16, "The service name is missing. Specify a service name."),
    8422: (16, "The error description is missing. Specify a description of the error."),
    8423: (16, "The service \"%s\" is not found."),
    8424: (16, "The error code and error description are missing. Specify both the error code and "
               "description of the error."),
    8425: (16, "The service contract '%s' is not found."),
    8426: (16, "The conversation handle \"%s\" is not found."),
    8427: (16, "The conversation endpoint is not in a valid state for END CONVERSATION. The "
               "current endpoint state is '%s'."),
    8428: (16, "The message type \"%s\" is not found."),
    8429: (16, "The conversation endpoint is not in a valid state for SEND. The current endpoint "
               "state is '%s'."),
    8430: (16, "The message body failed the configured validation."),
    8431: (16, "The message type '%s' is not part of the service contract."),
    8432: (16, "The message cannot be sent because the message type '%s' is marked SENT BY TARGET "
               "in the contract, however this service is an Initiator."),
    8433: (16, "The message body may not be NULL. A zero-length UNICODE or binary string is "
               "allowed."),
    8434: (16, "The message cannot be sent because the message type '%s' is marked SENT BY "
               "INTITIATOR in the contract, however this service is a Target."),
    8435: (16, "The conversation handle \"%s\" at position %d is not found."),
    8436: (16, "The conversation group \"%s\" is not found."),
    8437: (16, "The message received was sent by a Target service, but the message type '%s' is "
               "marked SENT BY INITIATOR in the contract."),
    8438: (16, "The conversation endpoint is not in a valid state for MOVE CONVERSATION. The "
               "current endpoint state is '%s'."),
    8439: (16, "The destination conversation group '%s' is invalid."),
    8441: (16, "The conversation handle at position %d is missing. Specify a conversation "
               "handle."),
    8442: (16, "There is no Service Broker active in the database. Change to a database context "
               "that contains a Service Broker."),
    8447: (16, "A RECEIVE statement that assigns a value to a variable must not be combined with "
               "data retrieval operations."),
    8450: (16, "Assignments in the RECEIVE projection are not allowed in conjunction with the "
               "INTO clause."),
    8451: (16, "The conversation handle '%s' at position %d appears more than once."),
    8457: (16, "The message received was sent by the initiator of the conversation, but the "
               "message type '%s' is marked SENT BY TARGET in the contract."),
    8458: (16, "The conversation endpoint is not in a valid state for BEGIN CONVERSATION TIMER. "
               "The current endpoint state is '%s'."),
    8459: (16, "The message size, including header information, exceeds the maximum allowed of "
               "%d."),
    8462: (16, "The remote conversation endpoint is either in a state where no more messages can "
               "be exchanged, or it has been dropped."),
    8468: (16, "Underlying service has been altered."),
    8469: (16, "Remote service has been altered."),
    8470: (16, "Remote service has been dropped."),
    8487: (16, "The remote service contract has been dropped."),
    8489: (16, "The dialog has exceeded the specified LIFETIME."),
    8490: (16, "Cannot find the remote service '%s' because it does not exist."),
    8492: (16, "The service contract '%s' must have at least one message SENT BY INITIATOR or "
               "ANY."),
    8493: (16, "The alter of service '%s' must change the queue or at least one contract."),
    8494: (16, "You do not have permission to access the service '%s'."),
    8498: (16, "The remote service has sent a message of type '%s' that is not part of the local "
               "contract."),
    9609: (16, "The %s name '%s' contains more than the maximum number of prefixes. The maximum "
               "is %d."),
    9610: (16, "The service '%s' in the FROM SERVICE clause must match the service '%s' "
               "referenced by %s = '%s'."),
    9611: (16, "Cannot find the specified user '%s'."),
    9613: (16, "The queue '%s' cannot be activated because the activation user is not "
               "specified."),
    9614: (16, "The queue '%s' cannot be activated because the activation stored procedure is "
               "either not specified or is invalid."),
    9615: (16, "A message of type '%s' failed XML validation on the target service. %s This "
               "occurred in the message with Conversation ID '%s', Initiator: %d, and Message "
               "sequence number: %d."),
    9616: (16, "A message of type '%s' was received and failed XML validation. %s This occurred "
               "in the message with Conversation ID '%s', Initiator: %d, and Message sequence "
               "number: %d."),
    9617: (16, "The service queue \"%s\" is currently disabled."),
    9618: (16, "The message cannot be sent because the service queue '%s' associated with the "
               "dialog is currently disabled and retention is on."),
    9620: (16, "The activation stored procedure '%s' is invalid. Functions are not allowed."),
    9648: (10, "The queue '%s' has been enabled for activation, but the MAX_QUEUE_READERS is "
               "zero. No procedures will be activated. Consider increasing the number of "
               "MAX_QUEUE_READERS."),
    9653: (16, "The signature of activation stored procedure '%s' is invalid. Parameters are not "
               "allowed."),
    9659: (16, "The %s of route '%s' cannot be empty."),
    9660: (16, "The %s of route '%s' must be less than %d characters long."),
    9662: (16, "Cannot specify BROKER_INSTANCE without SERVICE_NAME in route \"%s\"."),
    9663: (16, "The system object cannot be modified."),
    9719: (16, "The database for this conversation endpoint is attached or restored."),
    9720: (16, "The database for the remote conversation endpoint is attached or restored."),
    9742: (16, "The activation stored procedure '%s' is invalid. Temporary procedures may not be "
               "configured for activation."),
    9746: (16, "The LIFETIME of route '%s' must be in the range %d to %d."),
    9749: (10, "Target queue is busy; message(s) queued for delivery."),
    9750: (10, "No route matches the destination service name for this conversation. Create a "
               "route to the destination service name for messages in this conversation to be "
               "delivered."),
    9772: (16, "The Service Broker in database \"%s\" cannot be enabled because there is already "
               "an enabled Service Broker with the same ID."),
    9779: (10, "Service Broker received an END CONVERSATION message on this conversation. Service "
               "Broker will not transmit the message; it will be held until the application ends "
               "the conversation."),
    9784: (10, "Service Broker received an error message on this conversation. Service Broker "
               "will not transmit the message; it will be held until the application ends the "
               "conversation."),
    9791: (10, "The broker is disabled in the sender's database."),
    9795: (10, "Could not find the target broker in the local SQL Server instance."),
    9796: (10, "The target service name matched a LOCAL route, but there is no service by that "
               "name in the local SQL Server instance."),
    28006: (14, "User does not have permission to %s the conversation '%s' in state '%s'. Only "
                "members of the sysadmin fixed server role and the db_owner fixed database role "
                "have this permission."),
    28012: (10, "The Service Broker in the target database is unavailable: '%s'."),
    28013: (10, "The service broker is administratively disabled."),
}


def text(number: int, *args: object) -> str:
    """The text of a broker message, for statuses and Error bodies."""
    template = BROKER_MESSAGES[number][1]
    return template % args if args else template
