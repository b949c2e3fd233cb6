"""Service Broker: conversation statements and the definitions of broker objects."""

from __future__ import annotations

from redial.tsql.ast.base import (
    Expression,
    Identifier,
    Node,
    ObjectName,
    Option,
    Statement,
    node,
)
from redial.tsql.ast.expressions import Literal, Variable
from redial.tsql.ast.queries import SelectItem, Top


@node
class BeginDialog(Statement):
    """BEGIN DIALOG [CONVERSATION]."""

    handle: Variable
    from_service: Identifier | Variable
    """Name or variable."""
    to_service: Expression
    broker_instance: Expression | None = None
    """to_service, broker_instance: string or variable."""
    contract: Identifier | Variable | None = None
    """Name or variable."""
    related_conversation: Expression | None = None
    related_conversation_group: Expression | None = None
    lifetime: Expression | None = None
    """Seconds."""
    encryption: bool | None = None
    """None when not stated (the server then takes ON)."""


@node
class BeginTimer(Statement):
    """BEGIN CONVERSATION TIMER (handle) TIMEOUT = timeout in seconds."""

    handle: Expression
    timeout: Expression


@node
class Send(Statement):
    """SEND ON CONVERSATION handles [MESSAGE TYPE message_type] [(body)]."""

    handles: list[Expression]
    message_type: Identifier | Variable | None
    """None means DEFAULT."""
    body: Expression | None
    in_list: bool = False
    """The handles stood in parentheses."""


@node
class Receive(Statement):
    """RECEIVE [TOP (n)] items FROM queue [INTO into] [WHERE where_column = where_value]."""

    top: Top | None
    items: list[SelectItem]
    queue: ObjectName
    into: Variable | None
    """Table variable."""
    where_column: str | None
    """CONVERSATION_HANDLE or CONVERSATION_GROUP_ID, or None."""
    where_value: Expression | None


@node
class GetConversationGroup(Statement):
    """GET CONVERSATION GROUP variable FROM queue."""

    variable: Variable
    queue: ObjectName


@node
class MoveConversation(Statement):
    """MOVE CONVERSATION handle TO group."""

    handle: Expression
    group: Expression


@node
class EndConversation(Statement):
    """END CONVERSATION handle [WITH CLEANUP | WITH ERROR = error DESCRIPTION = description]."""

    handle: Expression
    cleanup: bool
    error: Expression | None
    description: Expression | None


@node
class MessageTypeDefinition(Statement):
    """CREATE or ALTER MESSAGE TYPE."""

    name: Identifier
    owner: Identifier | None
    validation: str | None
    """NONE, EMPTY, WELL_FORMED_XML, VALID_XML, None not stated."""
    schema_collection: ObjectName | None
    """Of VALID_XML."""


@node
class CreateMessageType(MessageTypeDefinition):
    """CREATE MESSAGE TYPE."""


@node
class AlterMessageType(MessageTypeDefinition):
    """ALTER MESSAGE TYPE."""


@node
class ContractMessage(Node):
    """message_type SENT BY sent_by."""

    message_type: Identifier
    sent_by: str
    """INITIATOR, TARGET or ANY."""


@node
class CreateContract(Statement):
    """CREATE CONTRACT."""

    name: Identifier
    owner: Identifier | None
    messages: list[ContractMessage]


@node
class QueueActivation(Node):
    """ACTIVATION (..)."""

    drop: bool
    """ACTIVATION (DROP); a field not stated is None."""
    status: bool | None = None
    procedure: ObjectName | None = None
    max_readers: int | None = None
    execute_as: Identifier | Literal | None = None
    """SELF, OWNER (upper case Identifier) or a string Literal."""


@node
class QueueDefinition(Statement):
    """CREATE or ALTER QUEUE. A switch that is not stated is None."""

    name: ObjectName
    status: bool | None = None
    retention: bool | None = None
    poison_handling: bool | None = None
    activation: QueueActivation | None = None
    filegroup: str | None = None
    """Of CREATE .. ON."""


@node
class CreateQueue(QueueDefinition):
    """CREATE QUEUE."""


@node
class AlterQueue(QueueDefinition):
    """ALTER QUEUE."""

    action: str | None = None
    """REBUILD, REORGANIZE or MOVE instead of WITH."""
    action_options: list[Option] | None = None
    """Its WITH list; filegroup: MOVE TO."""


@node
class CreateService(Statement):
    """CREATE SERVICE."""

    name: Identifier
    owner: Identifier | None
    queue: ObjectName
    contracts: list[Identifier]
    """[] means the service can only begin dialogs."""


@node
class AlterServiceContract(Node):
    """ADD CONTRACT or DROP CONTRACT name."""

    verb: str
    """ADD or DROP."""
    contract: Identifier


@node
class AlterService(Statement):
    """ALTER SERVICE."""

    name: Identifier
    queue: ObjectName | None
    changes: list[AlterServiceContract]


@node
class RouteDefinition(Statement):
    """CREATE or ALTER ROUTE."""

    name: Identifier
    owner: Identifier | None
    service_name: Literal | None
    broker_instance: Literal | None
    lifetime: Literal | None
    """Seconds; a field not stated is None."""
    address: Literal | None
    mirror_address: Literal | None


@node
class CreateRoute(RouteDefinition):
    """CREATE ROUTE."""


@node
class AlterRoute(RouteDefinition):
    """ALTER ROUTE."""


@node
class CreateRemoteServiceBinding(Statement):
    """CREATE REMOTE SERVICE BINDING name TO SERVICE service WITH USER = user, ANONYMOUS = .."""

    name: Identifier
    owner: Identifier | None
    service: Literal
    user: Identifier | None
    anonymous: bool | None


@node
class AlterRemoteServiceBinding(Statement):
    """ALTER REMOTE SERVICE BINDING."""

    name: Identifier
    user: Identifier | None
    anonymous: bool | None


@node
class BrokerPriorityDefinition(Statement):
    """CREATE or ALTER BROKER PRIORITY."""

    name: Identifier
    contract: Identifier | str | None
    local_service: Identifier | str | None
    remote_service: Literal | str | None
    """contract, local_service, remote_service: none not stated, "ANY", or the name."""
    level: int | str | None
    """1 to 10, "DEFAULT" or None."""


@node
class CreateBrokerPriority(BrokerPriorityDefinition):
    """CREATE BROKER PRIORITY."""


@node
class AlterBrokerPriority(BrokerPriorityDefinition):
    """ALTER BROKER PRIORITY."""


@node
class CreateEventNotification(Statement):
    """CREATE EVENT NOTIFICATION."""

    name: Identifier
    scope: str
    """QUEUE, DATABASE or SERVER."""
    queue: ObjectName | None
    fan_in: bool
    events: list[str]
    """Upper case."""
    service: Literal
    broker_instance: Literal


@node
class DropEventNotification(Statement):
    """DROP EVENT NOTIFICATION names ON scope."""

    names: list[Identifier]
    scope: str
    queue: ObjectName | None


@node
class EndpointDefinition(Statement):
    """CREATE or ALTER ENDPOINT."""

    name: Identifier
    owner: Identifier | None
    state: str | None
    """STARTED, STOPPED, DISABLED or None."""
    protocol: str | None
    """TCP ..."""
    protocol_options: list[Option]
    purpose: str | None
    """SERVICE_BROKER, TSQL .."""
    purpose_options: list[Option]


@node
class CreateEndpoint(EndpointDefinition):
    """CREATE ENDPOINT."""


@node
class AlterEndpoint(EndpointDefinition):
    """ALTER ENDPOINT."""
