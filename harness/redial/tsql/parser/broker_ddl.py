"""Definitions of broker objects: message types, contracts, queues, services, routes ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from redial.tsql.ast import (
    AlterBrokerPriority,
    AlterEndpoint,
    AlterMessageType,
    AlterQueue,
    AlterRemoteServiceBinding,
    AlterRoute,
    AlterService,
    AlterServiceContract,
    ContractMessage,
    CreateBrokerPriority,
    CreateContract,
    CreateEndpoint,
    CreateEventNotification,
    CreateMessageType,
    CreateQueue,
    CreateRemoteServiceBinding,
    CreateRoute,
    CreateService,
    DropEventNotification,
    Identifier,
    Literal,
    ObjectName,
    Option,
    QueueActivation,
    Statement,
)
from redial.tsql.lexer import KEYWORD, STRING, WORD
from redial.tsql.parser.modules import ModuleParser


class BrokerDdlParser(ModuleParser):
    """Broker objects. Every method starts at the word after CREATE or ALTER."""

    def message_type(self, start: int, verb: str) -> Statement:
        """Read MESSAGE TYPE; ALTER needs VALIDATION."""
        self.expect("MESSAGE", "TYPE")
        name = self.identifier()
        owner = self.owner() if verb == "CREATE" else None
        validation = collection = None
        if verb == "ALTER" or self.words[self.i] == "VALIDATION":
            self.expect("VALIDATION", "=")
            validation = self.expect_any("NONE", "EMPTY", "WELL_FORMED_XML", "VALID_XML")
            if validation == "VALID_XML":
                self.expect("WITH", "SCHEMA", "COLLECTION")
                collection = self.object_name(2)
        kind = CreateMessageType if verb == "CREATE" else AlterMessageType
        return kind(start, self.last_end(), name, owner, validation, collection)

    def contract(self, start: int, verb: str) -> Statement:
        """Read CONTRACT; there is no ALTER CONTRACT."""
        if verb != "CREATE":
            self.unexpected()
        self.expect("CONTRACT")
        name = self.identifier()
        owner = self.owner()
        messages = self.parenthesised(self._contract_message)
        return CreateContract(start, self.last_end(), name, owner, messages)

    def _contract_message(self) -> ContractMessage:
        start = self.starts[self.i]
        message_type = self.identifier()
        self.expect("SENT", "BY")
        sent_by = self.expect_any("INITIATOR", "TARGET", "ANY")
        return ContractMessage(start, self.last_end(), message_type, sent_by)

    # ------------------------------------------------------------------------------------- queues
    def queue(self, start: int, verb: str) -> Statement:
        """Read QUEUE."""
        self.expect("QUEUE")
        name = self.object_name(3)
        if verb == "CREATE":
            created = CreateQueue(start, start, name)
            if self.accept("WITH"):
                self._queue_options(created)
            created.filegroup = self.filegroup()
            created.end = self.last_end()
            return created
        altered = AlterQueue(start, start, name)
        if self.words[self.i] in ("REBUILD", "REORGANIZE", "MOVE"):
            self._queue_action(altered)
        else:
            self.expect("WITH")
            self._queue_options(altered)
        altered.end = self.last_end()
        return altered

    def _queue_action(self, queue: AlterQueue) -> None:
        queue.action = self.word()
        if queue.action == "MOVE":
            queue.filegroup = self.filegroup("TO")
            if queue.filegroup is None:
                self.unexpected()
        elif self.accept("WITH"):
            queue.action_options = self.option_list()

    def _queue_options(self, queue: CreateQueue | AlterQueue) -> None:
        seen: set[str] = set()
        while True:
            i = self.i
            word = self.expect_any("STATUS", "RETENTION", "POISON_MESSAGE_HANDLING", "ACTIVATION")
            if word in seen:
                self.i = i
                self.unexpected()
            seen.add(word)
            if word == "STATUS":
                self.expect("=")
                queue.status = self.on_off()
            elif word == "RETENTION":
                self.expect("=")
                queue.retention = self.on_off()
            elif word == "POISON_MESSAGE_HANDLING":
                self.expect("(", "STATUS", "=")
                queue.poison_handling = self.on_off()
                self.expect(")")
            else:
                queue.activation = self._activation(i, isinstance(queue, AlterQueue))
            if not self.accept(","):
                return

    def _activation(self, first: int, may_drop: bool) -> QueueActivation:
        self.expect("(")
        if may_drop and self.accept("DROP"):
            self.expect(")")
            return QueueActivation(self.starts[first], self.last_end(), True)
        activation = QueueActivation(self.starts[first], self.starts[first], False)
        seen: set[str] = set()
        while True:
            i = self.i
            word = self.expect_any(
                "STATUS", "PROCEDURE_NAME", "MAX_QUEUE_READERS", "EXECUTE", "EXEC"
            )
            if word in seen:
                self.i = i
                self.unexpected()
            seen.add(word)
            self._activation_option(activation, word)
            if not self.accept(","):
                break
        if not may_drop and None in (
            activation.procedure,
            activation.max_readers,
            activation.execute_as,
        ):
            self.unexpected()  # CREATE QUEUE takes all three or none (its page)
        self.expect(")")
        activation.end = self.last_end()
        return activation

    def _activation_option(self, activation: QueueActivation, word: str) -> None:
        if word in ("EXECUTE", "EXEC"):
            self.expect("AS")
            if self.kinds[self.i] == STRING:
                activation.execute_as = self.string()
            else:
                i = self.i
                word = self.expect_any("SELF", "OWNER")
                activation.execute_as = Identifier(self.starts[i], self.ends[i], word)
            return
        self.expect("=")
        if word == "STATUS":
            activation.status = self.on_off()
        elif word == "PROCEDURE_NAME":
            activation.procedure = self.object_name(3)
        else:
            activation.max_readers = self.whole_number()

    # ----------------------------------------------------------------------------------- services
    def service(self, start: int, verb: str) -> Statement:
        """Read SERVICE."""
        if self.words[self.i + 1] == "MASTER":
            return self.master_key(start, verb)
        self.expect("SERVICE")
        name = self.identifier()
        if verb == "CREATE":
            owner = self.owner()
            self.expect("ON", "QUEUE")
            queue = self.object_name(2)
            contracts = self.parenthesised(self.identifier) if self.words[self.i] == "(" else []
            return CreateService(start, self.last_end(), name, owner, queue, contracts)
        on_queue: ObjectName | None = None
        changes: list[AlterServiceContract] = []
        if self.accept_all("ON", "QUEUE"):
            on_queue = self.object_name(2)
        if on_queue is None or self.words[self.i] == "(":
            changes = self.parenthesised(self._service_change)
        return AlterService(start, self.last_end(), name, on_queue, changes)

    def master_key(self, start: int, verb: str) -> Statement:
        """Read [SERVICE] MASTER KEY."""
        raise NotImplementedError

    def _service_change(self) -> AlterServiceContract:
        start = self.starts[self.i]
        verb = self.expect_any("ADD", "DROP")
        self.expect("CONTRACT")
        contract = self.identifier()
        return AlterServiceContract(start, self.last_end(), verb, contract)

    # ------------------------------------------------------------------- routes, bindings, priority
    def _assignments(self, readers: dict[str, Callable[[], object]]) -> dict[str, Any]:
        """Read ``NAME = value, ..``, each name at most once. Any: what the name's reader gives."""
        found: dict[str, Any] = {}
        while True:
            i = self.i
            word = self.expect_any(*readers)
            if word in found:
                self.i = i
                self.unexpected()
            self.expect("=")
            found[word] = readers[word]()
            if not self.accept(","):
                return found

    def route(self, start: int, verb: str) -> Statement:
        """Read ROUTE; CREATE needs an ADDRESS."""
        self.expect("ROUTE")
        name = self.identifier()
        owner = self.owner() if verb == "CREATE" else None
        self.expect("WITH")
        found = self._assignments(
            {
                "SERVICE_NAME": self.string,
                "BROKER_INSTANCE": self.string,
                "LIFETIME": self.integer,
                "ADDRESS": self.string,
                "MIRROR_ADDRESS": self.string,
            }
        )
        if verb == "CREATE" and "ADDRESS" not in found:
            self.unexpected()
        kind = CreateRoute if verb == "CREATE" else AlterRoute
        return kind(
            start,
            self.last_end(),
            name,
            owner,
            found.get("SERVICE_NAME"),
            found.get("BROKER_INSTANCE"),
            found.get("LIFETIME"),
            found.get("ADDRESS"),
            found.get("MIRROR_ADDRESS"),
        )

    def remote_service_binding(self, start: int, verb: str) -> Statement:
        """Read REMOTE SERVICE BINDING."""
        self.expect("REMOTE", "SERVICE", "BINDING")
        name = self.identifier()
        readers = {"USER": self.identifier, "ANONYMOUS": self.on_off}
        if verb == "ALTER":
            self.expect("WITH")
            found = self._assignments(readers)
            user, anonymous = found.get("USER"), found.get("ANONYMOUS")
            return AlterRemoteServiceBinding(start, self.last_end(), name, user, anonymous)
        owner = self.owner()
        self.expect("TO", "SERVICE")
        service = self.string()
        self.expect("WITH")
        found = self._assignments(readers)
        user, anonymous = found.get("USER"), found.get("ANONYMOUS")
        end = self.last_end()
        return CreateRemoteServiceBinding(start, end, name, owner, service, user, anonymous)

    def broker_priority(self, start: int, verb: str) -> Statement:
        """Read BROKER PRIORITY."""
        self.expect("BROKER", "PRIORITY")
        name = self.identifier()
        self.expect("FOR", "CONVERSATION")
        found: dict[str, Any] = {}  # of _assignments
        if self.accept("SET"):
            self.expect("(")
            found = self._assignments(
                {
                    "CONTRACT_NAME": self._any_or_name,
                    "LOCAL_SERVICE_NAME": self._any_or_name,
                    "REMOTE_SERVICE_NAME": self._any_or_string,
                    "PRIORITY_LEVEL": self._level,
                }
            )
            self.expect(")")
        kind = CreateBrokerPriority if verb == "CREATE" else AlterBrokerPriority
        return kind(
            start,
            self.last_end(),
            name,
            found.get("CONTRACT_NAME"),
            found.get("LOCAL_SERVICE_NAME"),
            found.get("REMOTE_SERVICE_NAME"),
            found.get("PRIORITY_LEVEL"),
        )

    def _any_or_name(self) -> Identifier | str:
        return "ANY" if self.accept("ANY") else self.identifier()

    def _any_or_string(self) -> Literal | str:
        return "ANY" if self.accept("ANY") else self.string()

    def _level(self) -> int | str:
        return "DEFAULT" if self.accept("DEFAULT") else self.whole_number()

    # ------------------------------------------------------------------ notifications and endpoints
    def event_notification(self, start: int, verb: str) -> Statement:
        """Read EVENT NOTIFICATION; there is no ALTER."""
        if verb != "CREATE":
            self.unexpected()
        self.expect("EVENT", "NOTIFICATION")
        name = self.identifier()
        scope, queue = self._event_scope()
        fan_in = self.accept_all("WITH", "FAN_IN")
        self.expect("FOR")
        events = self.list_of(self.word)
        self.expect("TO", "SERVICE")
        service = self.string()
        self.expect(",")
        instance = self.string()
        end = self.last_end()
        return CreateEventNotification(
            start, end, name, scope, queue, fan_in, events, service, instance
        )

    def drop_event_notification(self, start: int) -> Statement:
        """Read the names and scope of DROP EVENT NOTIFICATION."""
        names = self.list_of(self.identifier)
        scope, queue = self._event_scope()
        return DropEventNotification(start, self.last_end(), names, scope, queue)

    def _event_scope(self) -> tuple[str, ObjectName | None]:
        self.expect("ON")
        scope = self.expect_any("SERVER", "DATABASE", "QUEUE")
        return scope, self.object_name(3) if scope == "QUEUE" else None

    def endpoint(self, start: int, verb: str) -> Statement:
        """Read ENDPOINT."""
        self.expect("ENDPOINT")
        name = self.identifier()
        owner = self.owner()
        state = protocol = purpose = None
        protocol_options: list[Option] = []
        purpose_options: list[Option] = []
        if self.accept_all("STATE", "="):
            state = self.expect_any("STARTED", "STOPPED", "DISABLED")
        if self.accept("AS"):
            protocol = self.expect_any("TCP", "HTTP")
            protocol_options = self.parenthesised(self._protocol_option)
        if self.accept("FOR"):
            purpose = self.expect_any("SERVICE_BROKER", "TSQL", "DATABASE_MIRRORING", "SOAP")
            self.expect("(")
            while self.words[self.i] != ")":
                purpose_options.append(self._endpoint_option())
                self.accept(",")
            self.expect(")")
        if verb == "CREATE" and (protocol is None or purpose is None):
            self.unexpected()
        kind = CreateEndpoint if verb == "CREATE" else AlterEndpoint
        return kind(
            start,
            self.last_end(),
            name,
            owner,
            state,
            protocol,
            protocol_options,
            purpose,
            purpose_options,
        )

    def _protocol_option(self) -> Option:
        """Read an option of AS TCP; a port is a whole number."""
        start = self.starts[self.i]
        if not self.accept_all("LISTENER_PORT", "="):
            return self.option()
        value = self.integer()
        return Option(start, self.last_end(), "LISTENER_PORT", value)

    def _endpoint_option(self) -> Option:
        """Read ``NAME = word word ..``, e.g. AUTHENTICATION = WINDOWS NEGOTIATE CERTIFICATE c.

        The words after the first become arguments. Commas between options may be left out (CREATE
        ENDPOINT page), so a word before ``=`` is the next option's name.
        """
        i = self.i
        option = Option(self.starts[i], self.ends[i], self.word())
        self.expect("=")
        whole = option.name == "MESSAGE_FORWARD_SIZE"
        option.value = self.integer() if whole else self._option_scalar()
        words = []
        while (self.kinds[self.i] in (WORD, KEYWORD) or self.at_identifier()) and self.words[
            self.i + 1
        ] != "=":
            at = self.i
            text = self.name() if self.at_identifier() else self.word()
            words.append(Option(self.starts[at], self.ends[at], text))
        option.arguments = words or None
        option.end = self.last_end()
        return option
