"""Service Broker's messages by number; ``messages.MESSAGES`` includes them.

Texts are those of the errors-events pages, apostrophes and spelling kept ("INTITIATOR" is the
server's). Numbers of severity 10 appear as transmission_status or in the ERRORLOG only.
"""

from __future__ import annotations

BROKER_MESSAGES: dict[int, tuple[int, str]] = {
    1095: (15, "%s has already been specified as an event type."),
    1098: (15, "The specified event type(s) is/are not valid on the specified target object."),
    1921: (16, "Invalid %s '%s' specified."),
    3716: (16, "The %s '%s' cannot be dropped because it is bound to one or more %s."),
    7862: (
        16,
        "An endpoint of the requested type already exists. Only one endpoint of this type "
        "is supported. Use ALTER ENDPOINT or DROP the existing endpoint and execute the "
        "CREATE ENDPOINT statement.",
    ),
    7863: (
        16,
        "The endpoint was not changed. The ALTER ENDPOINT statement did not contain any "
        "values to modify or update.",
    ),
    8402: (
        16,
        "The data type of the '%s' in the '%s' statement must be %s. The %s data type is "
        "not allowed.",
    ),
    8403: (
        16,
        "The message type '%s' is specified more than once. Remove the duplicate message type.",
    ),
    8404: (
        16,
        "The service contract '%s' is specified more than once. Remove the duplicate "
        "service contract.",
    ),
    8406: (
        16,
        "The dialog lifetime can not be NULL. Specify a valid dialog lifetime value from %d to %d.",
    ),
    8408: (16, "Target service '%s' does not support contract '%s'."),
    8410: (16, "The conversation timer cannot be set beyond the conversation's lifetime."),
    8411: (
        16,
        "The dialog lifetime value of %d is outside the allowable range of %d to %d. "
        "Specify a valid dialog lifetime value.",
    ),
    8412: (16, "The syntax of the service name '%s' is invalid."),
    8413: (
        16,
        "The syntax of the broker instance '%s' is invalid. The specified broker instance "
        "is too long, the maximum size is 256 bytes.",
    ),
    8414: (
        16,
        "The conversation group ID '%s' is invalid in this context. Specify a different "
        "conversion group ID.",
    ),
    8415: (
        16,
        "The activated task was aborted because the invoked stored procedure '%s' did not "
        "issue COMMIT or ROLLBACK on one or more transactions that it begun.",
    ),
    8417: (16, "The service contract name is NULL. Specify a service contract name."),
    8418: (16, "The conversation handle is missing. Specify a conversation handle."),
    8419: (
        16,
        "Both the error code and the description must be provided for END CONVERSATION "
        "WITH ERROR. Neither value can be NULL.",
    ),
    8420: (16, "The conversation group is missing. Specify a conversation group."),
    8421: (16, "The service name is missing. Specify a service name."),
    8422: (16, "The error description is missing. Specify a description of the error."),
    8423: (16, 'The service "%s" is not found.'),
    8424: (
        16,
        "The error code and error description are missing. Specify both the error code and "
        "description of the error.",
    ),
    8425: (16, "The service contract '%s' is not found."),
    8426: (16, 'The conversation handle "%s" is not found.'),
    8427: (
        16,
        "The conversation endpoint is not in a valid state for END CONVERSATION. The "
        "current endpoint state is '%s'.",
    ),
    8428: (16, 'The message type "%s" is not found.'),
    8429: (
        16,
        "The conversation endpoint is not in a valid state for SEND. The current endpoint "
        "state is '%s'.",
    ),
    8430: (16, "The message body failed the configured validation."),
    8431: (16, "The message type '%s' is not part of the service contract."),
    8432: (
        16,
        "The message cannot be sent because the message type '%s' is marked SENT BY TARGET "
        "in the contract, however this service is an Initiator.",
    ),
    8433: (
        16,
        "The message body may not be NULL. A zero-length UNICODE or binary string is allowed.",
    ),
    8434: (
        16,
        "The message cannot be sent because the message type '%s' is marked SENT BY "
        "INTITIATOR in the contract, however this service is a Target.",
    ),
    8435: (16, 'The conversation handle "%s" at position %d is not found.'),
    8436: (16, 'The conversation group "%s" is not found.'),
    8437: (
        16,
        "The message received was sent by a Target service, but the message type '%s' is "
        "marked SENT BY INITIATOR in the contract.",
    ),
    8438: (
        16,
        "The conversation endpoint is not in a valid state for MOVE CONVERSATION. The "
        "current endpoint state is '%s'.",
    ),
    8439: (16, "The destination conversation group '%s' is invalid."),
    8441: (16, "The conversation handle at position %d is missing. Specify a conversation handle."),
    8442: (
        16,
        "There is no Service Broker active in the database. Change to a database context "
        "that contains a Service Broker.",
    ),
    8447: (
        16,
        "A RECEIVE statement that assigns a value to a variable must not be combined with "
        "data retrieval operations.",
    ),
    8450: (
        16,
        "Assignments in the RECEIVE projection are not allowed in conjunction with the "
        "INTO clause.",
    ),
    8451: (16, "The conversation handle '%s' at position %d appears more than once."),
    8457: (
        16,
        "The message received was sent by the initiator of the conversation, but the "
        "message type '%s' is marked SENT BY TARGET in the contract.",
    ),
    8458: (
        16,
        "The conversation endpoint is not in a valid state for BEGIN CONVERSATION TIMER. "
        "The current endpoint state is '%s'.",
    ),
    8459: (
        16,
        "The message size, including header information, exceeds the maximum allowed of %d.",
    ),
    8462: (
        16,
        "The remote conversation endpoint is either in a state where no more messages can "
        "be exchanged, or it has been dropped.",
    ),
    8468: (16, "Underlying service has been altered."),
    8469: (16, "Remote service has been altered."),
    8470: (16, "Remote service has been dropped."),
    8487: (16, "The remote service contract has been dropped."),
    8489: (16, "The dialog has exceeded the specified LIFETIME."),
    8490: (16, "Cannot find the remote service '%s' because it does not exist."),
    8492: (
        16,
        "The service contract '%s' must have at least one message SENT BY INITIATOR or ANY.",
    ),
    8493: (16, "The alter of service '%s' must change the queue or at least one contract."),
    8494: (16, "You do not have permission to access the service '%s'."),
    8498: (
        16,
        "The remote service has sent a message of type '%s' that is not part of the local "
        "contract.",
    ),
    9609: (
        16,
        "The %s name '%s' contains more than the maximum number of prefixes. The maximum is %d.",
    ),
    9610: (
        16,
        "The service '%s' in the FROM SERVICE clause must match the service '%s' "
        "referenced by %s = '%s'.",
    ),
    9611: (16, "Cannot find the specified user '%s'."),
    9613: (16, "The queue '%s' cannot be activated because the activation user is not specified."),
    9614: (
        16,
        "The queue '%s' cannot be activated because the activation stored procedure is "
        "either not specified or is invalid.",
    ),
    9615: (
        16,
        "A message of type '%s' failed XML validation on the target service. %s This "
        "occurred in the message with Conversation ID '%s', Initiator: %d, and Message "
        "sequence number: %d.",
    ),
    9616: (
        16,
        "A message of type '%s' was received and failed XML validation. %s This occurred "
        "in the message with Conversation ID '%s', Initiator: %d, and Message sequence "
        "number: %d.",
    ),
    9617: (16, 'The service queue "%s" is currently disabled.'),
    9618: (
        16,
        "The message cannot be sent because the service queue '%s' associated with the "
        "dialog is currently disabled and retention is on.",
    ),
    9619: (
        16,
        "Failed to create remote service binding '%s'. A remote service binding for "
        "service '%s' already exists.",
    ),
    9620: (16, "The activation stored procedure '%s' is invalid. Functions are not allowed."),
    9648: (
        10,
        "The queue '%s' has been enabled for activation, but the MAX_QUEUE_READERS is "
        "zero. No procedures will be activated. Consider increasing the number of "
        "MAX_QUEUE_READERS.",
    ),
    9653: (
        16,
        "The signature of activation stored procedure '%s' is invalid. Parameters are not allowed.",
    ),
    9659: (16, "The %s of route '%s' cannot be empty."),
    9660: (16, "The %s of route '%s' must be less than %d characters long."),
    9661: (
        16,
        'The SERVICE_NAME and BROKER_INSTANCE of route "%s" must be specified when using '
        "mirroring.",
    ),
    9662: (16, 'Cannot specify BROKER_INSTANCE without SERVICE_NAME in route "%s".'),
    9666: (10, "The %s endpoint is in disabled or stopped state."),
    9663: (16, "The system object cannot be modified."),
    9717: (
        16,
        "Cannot enable stored procedure activation on queue '%s'. Event notification for "
        "queue_activation is already configured on this queue.",
    ),
    9718: (
        16,
        'Cannot create event notification for queue_activation on queue "%s". Stored '
        "procedure activation is already configured on this queue.",
    ),
    9719: (16, "The database for this conversation endpoint is attached or restored."),
    9720: (16, "The database for the remote conversation endpoint is attached or restored."),
    9724: (10, "The activated proc '%s' running on queue '%s' output the following:  '%s'"),
    9727: (
        16,
        "Dialog security is not available for this conversation because there is no remote "
        "service binding for the target service. Create a remote service binding, or "
        "specify ENCRYPTION = OFF in the BEGIN DIALOG statement.",
    ),
    9731: (
        16,
        "Dialog security is unavailable for this conversation because there is no security "
        "certificate bound to the database principal (Id: %d). Either create a certificate "
        "for the principal, or specify ENCRYPTION = OFF when beginning the conversation.",
    ),
    9742: (
        16,
        "The activation stored procedure '%s' is invalid. Temporary procedures may not be "
        "configured for activation.",
    ),
    9743: (16, 'The %s of route "%s" must be an address when using mirroring.'),
    9744: (16, 'The %s of route "%s" is not a valid address.'),
    9745: (16, "The ADDRESS of route '%s' cannot be 'TRANSPORT' when SERVICE_NAME is specified."),
    9746: (16, "The LIFETIME of route '%s' must be in the range %d to %d."),
    9747: (16, "The ADDRESS and MIRROR_ADDRESS of route '%s' cannot be the same."),
    9749: (10, "Target queue is busy; message(s) queued for delivery."),
    9750: (
        10,
        "No route matches the destination service name for this conversation. Create a "
        "route to the destination service name for messages in this conversation to be "
        "delivered.",
    ),
    9753: (10, "The target service broker is unreachable."),
    9772: (
        16,
        'The Service Broker in database "%s" cannot be enabled because there is already '
        "an enabled Service Broker with the same ID.",
    ),
    9775: (16, 'Cannot create a new Service Broker in read-only database "%s".'),
    9779: (
        10,
        "Service Broker received an END CONVERSATION message on this conversation. Service "
        "Broker will not transmit the message; it will be held until the application ends "
        "the conversation.",
    ),
    9784: (
        10,
        "Service Broker received an error message on this conversation. Service Broker "
        "will not transmit the message; it will be held until the application ends the "
        "conversation.",
    ),
    9785: (10, "Invalid address specified: '%s'."),
    9791: (10, "The broker is disabled in the sender's database."),
    9793: (
        10,
        "The target service name could not be found. Ensure that the service name is "
        "specified correctly and/or the routing information has been supplied.",
    ),
    9795: (10, "Could not find the target broker in the local SQL Server instance."),
    9796: (
        10,
        "The target service name matched a LOCAL route, but there is no service by that "
        "name in the local SQL Server instance.",
    ),
    17001: (
        16,
        "Failure to send an event notification instance of type '%s' on conversation "
        "handle '%s'. Error Code = '%s'.",
    ),
    17003: (
        16,
        "Closed event notification conversation endpoint with handle '%s', due to the "
        "following error: '%s'.",
    ),
    17004: (16, "Event notification conversation on dialog handle '%s' closed without an error."),
    17005: (
        16,
        "Event notification '%s' in database '%s' dropped due to send time service broker "
        "errors. Check to ensure the conversation handle, service broker contract, and "
        "service specified in the event notification are active.",
    ),
    28006: (
        14,
        "User does not have permission to %s the conversation '%s' in state '%s'. Only "
        "members of the sysadmin fixed server role and the db_owner fixed database role "
        "have this permission.",
    ),
    28012: (10, "The Service Broker in the target database is unavailable: '%s'."),
    28013: (10, "The service broker is administratively disabled."),
    28014: (10, "The database is in read-only mode."),
    28015: (10, "The database is in single-user mode."),
    28021: (
        16,
        "One or more messages could not be delivered to the local service targeted by this dialog.",
    ),
    28050: (
        10,
        "The session keys for this conversation could not be created or accessed. The "
        "database master key is required for this operation.",
    ),
    28051: (
        10,
        "Could not save a dialog session key. A master key is required in the database to "
        "save the session key.",
    ),
    28052: (16, "Cannot decrypt session key while regenerating master key with FORCE option."),
    28054: (
        16,
        "Service Broker needs to access the master key in the database '%s'. Error "
        "code:%d. The master key has to exist and the service master key encryption is "
        "required.",
    ),
    28055: (
        16,
        "The certificate '%s' is not valid for endpoint authentication. The certificate "
        "must have a private key encrypted with the database master key and current UTC "
        "date has to be between the certificate start date and the certificate "
        "expiration date.",
    ),
    28075: (
        10,
        "The broker in the sender's database is in single user mode. Messages cannot be "
        "delivered while in single user mode.",
    ),
    28083: (
        16,
        "The database principal '%s' cannot be used in a remote service binding because "
        "it cannot own certificates. Remote service bindings cannot be associated with 1) "
        "roles, 2) groups or 3) principals mapped to certificates or asymmetric keys.",
    ),
    28084: (
        10,
        "An error occurred in Service Broker internal activation while trying to scan the "
        "user queue '%s' for its status. Error: %d, State: %d. %s This is an "
        "informational message only. No user action is required.",
    ),
    28085: (16, "The activated task was ended because the associated queue was dropped."),
    28086: (
        16,
        "The activated task was ended because either the queue or activation was disabled.",
    ),
    28087: (
        16,
        "The activated task was aborted because the invoked stored procedure '%s' did not "
        "execute RECEIVE.",
    ),
    28088: (
        16,
        "The activated task was aborted due to an error (Error: %d, State %d). Check "
        'ERRORLOG or the previous "Broker:Activation" trace event for possible output '
        "from the activation stored procedure.",
    ),
}


def text(number: int, *args: object) -> str:
    """The text of a broker message, for statuses and Error bodies."""
    template = BROKER_MESSAGES[number][1]
    return template % args if args else template
