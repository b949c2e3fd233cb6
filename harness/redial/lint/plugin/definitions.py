"""sqlfluff segments of the definitions of Service Broker's objects, and of what keeps them company."""

from __future__ import annotations

from sqlfluff.core.parser import (
    AnyNumberOf,
    BaseSegment,
    Bracketed,
    Dedent,
    Delimited,
    Indent,
    OneOf,
    Ref,
    Sequence,
)

from redial.lint.plugin.parts import (
    AUTHORIZATION,
    EQUALS,
    INTEGER,
    NAME,
    OBJECT,
    ON_OFF,
    QUEUE,
    STRING,
    option,
)

_VALIDATION = option(
    "VALIDATION",
    OneOf(
        "NONE",
        "EMPTY",
        "WELL_FORMED_XML",
        Sequence("VALID_XML", "WITH", "SCHEMA", "COLLECTION", OBJECT),
    ),
)


class MessageTypeStatementSegment(BaseSegment):
    """CREATE, ALTER, DROP MESSAGE TYPE."""

    type = "message_type_statement"
    match_grammar = OneOf(
        Sequence(
            "CREATE",
            "MESSAGE",
            "TYPE",
            NAME,
            Indent,
            AUTHORIZATION,
            Sequence(_VALIDATION, optional=True),
            Dedent,
        ),
        Sequence("ALTER", "MESSAGE", "TYPE", NAME, Indent, _VALIDATION, Dedent),
        Sequence("DROP", "MESSAGE", "TYPE", NAME),
    )


class ContractStatementSegment(BaseSegment):
    """CREATE, DROP CONTRACT."""

    type = "contract_statement"
    match_grammar = OneOf(
        Sequence(
            "CREATE",
            "CONTRACT",
            NAME,
            Indent,
            AUTHORIZATION,
            Dedent,
            Bracketed(Delimited(Sequence(NAME, "SENT", "BY", OneOf("INITIATOR", "TARGET", "ANY")))),
        ),
        Sequence("DROP", "CONTRACT", NAME),
    )


class QueueOptionSegment(BaseSegment):
    """One option of a queue."""

    type = "queue_option"
    match_grammar = OneOf(
        option("STATUS", ON_OFF),
        option("RETENTION", ON_OFF),
        Sequence(
            "ACTIVATION",
            Bracketed(
                OneOf(
                    "DROP",
                    Delimited(
                        option("STATUS", ON_OFF),
                        option("PROCEDURE_NAME", OBJECT),
                        option("MAX_QUEUE_READERS", INTEGER),
                        Sequence(
                            OneOf("EXECUTE", "EXEC"), "AS", OneOf("SELF", "OWNER", "CALLER", STRING)
                        ),
                    ),
                )
            ),
        ),
        Sequence("POISON_MESSAGE_HANDLING", Bracketed(option("STATUS", ON_OFF))),
    )


_QUEUE_OPTIONS = Sequence("WITH", Indent, Delimited(Ref("QueueOptionSegment")), Dedent)


class QueueStatementSegment(BaseSegment):
    """CREATE, ALTER, DROP QUEUE."""

    type = "queue_statement"
    match_grammar = OneOf(
        Sequence(
            "CREATE",
            "QUEUE",
            QUEUE,
            Sequence(_QUEUE_OPTIONS, optional=True),
            Sequence("ON", NAME, optional=True),
        ),
        Sequence(
            "ALTER",
            "QUEUE",
            QUEUE,
            OneOf(
                _QUEUE_OPTIONS,
                Sequence(
                    "REBUILD", Sequence("WITH", Bracketed(option("MAXDOP", INTEGER)), optional=True)
                ),
                Sequence(
                    "REORGANIZE",
                    Sequence("WITH", Bracketed(option("LOB_COMPACTION", ON_OFF)), optional=True),
                ),
                Sequence("MOVE", "TO", NAME),
            ),
        ),
        Sequence("DROP", "QUEUE", QUEUE),
    )


class ServiceStatementSegment(BaseSegment):
    """CREATE, ALTER, DROP SERVICE."""

    type = "service_statement"
    match_grammar = OneOf(
        Sequence(
            "CREATE",
            "SERVICE",
            NAME,
            Indent,
            AUTHORIZATION,
            "ON",
            "QUEUE",
            QUEUE,
            Dedent,
            Bracketed(Delimited(NAME), optional=True),
        ),
        Sequence(
            "ALTER",
            "SERVICE",
            NAME,
            Sequence("ON", "QUEUE", QUEUE, optional=True),
            Bracketed(Delimited(Sequence(OneOf("ADD", "DROP"), "CONTRACT", NAME)), optional=True),
        ),
        Sequence("DROP", "SERVICE", NAME),
    )


class RouteStatementSegment(BaseSegment):
    """CREATE, ALTER, DROP ROUTE."""

    type = "route_statement"
    _options = Sequence(
        "WITH",
        Indent,
        Delimited(
            option("SERVICE_NAME", STRING),
            option("BROKER_INSTANCE", STRING),
            option("LIFETIME", INTEGER),
            option("ADDRESS", STRING),
            option("MIRROR_ADDRESS", STRING),
        ),
        Dedent,
    )
    match_grammar = OneOf(
        Sequence("CREATE", "ROUTE", NAME, AUTHORIZATION, _options),
        Sequence("ALTER", "ROUTE", NAME, _options),
        Sequence("DROP", "ROUTE", NAME),
    )


class RemoteServiceBindingStatementSegment(BaseSegment):
    """CREATE, ALTER, DROP REMOTE SERVICE BINDING."""

    type = "remote_service_binding_statement"
    _options = Sequence("WITH", Delimited(option("USER", NAME), option("ANONYMOUS", ON_OFF)))
    match_grammar = OneOf(
        Sequence(
            "CREATE",
            "REMOTE",
            "SERVICE",
            "BINDING",
            NAME,
            AUTHORIZATION,
            "TO",
            "SERVICE",
            STRING,
            _options,
        ),
        Sequence("ALTER", "REMOTE", "SERVICE", "BINDING", NAME, _options),
        Sequence("DROP", "REMOTE", "SERVICE", "BINDING", NAME),
    )


class BrokerPriorityStatementSegment(BaseSegment):
    """CREATE, ALTER, DROP BROKER PRIORITY."""

    type = "broker_priority_statement"
    _options = Sequence(
        "FOR",
        "CONVERSATION",
        Sequence(
            "SET",
            Bracketed(
                Delimited(
                    option("CONTRACT_NAME", OneOf("ANY", NAME)),
                    option("LOCAL_SERVICE_NAME", OneOf("ANY", NAME)),
                    option("REMOTE_SERVICE_NAME", OneOf("ANY", STRING)),
                    option("PRIORITY_LEVEL", OneOf("DEFAULT", INTEGER)),
                )
            ),
            optional=True,
        ),
    )
    match_grammar = OneOf(
        Sequence(OneOf("CREATE", "ALTER"), "BROKER", "PRIORITY", NAME, Indent, _options, Dedent),
        Sequence("DROP", "BROKER", "PRIORITY", NAME),
    )


class EventNotificationStatementSegment(BaseSegment):
    """CREATE, DROP EVENT NOTIFICATION."""

    type = "event_notification_statement"
    _on = Sequence("ON", OneOf("SERVER", "DATABASE", Sequence("QUEUE", QUEUE)))
    match_grammar = OneOf(
        Sequence(
            "CREATE",
            "EVENT",
            "NOTIFICATION",
            NAME,
            Indent,
            _on,
            Sequence("WITH", "FAN_IN", optional=True),
            "FOR",
            Delimited(NAME),
            "TO",
            "SERVICE",
            STRING,
            Ref("CommaSegment"),
            STRING,
            Dedent,
        ),
        Sequence("DROP", "EVENT", "NOTIFICATION", Delimited(NAME), _on),
    )


class BrokerEndpointStatementSegment(BaseSegment):
    """CREATE, ALTER, DROP ENDPOINT of Service Broker."""

    type = "endpoint_statement"
    _authentication = AnyNumberOf(
        "WINDOWS", "NTLM", "KERBEROS", "NEGOTIATE", Sequence("CERTIFICATE", NAME)
    )
    _encryption = OneOf(
        "DISABLED",
        Sequence(
            OneOf("SUPPORTED", "REQUIRED"),
            Sequence("ALGORITHM", AnyNumberOf("AES", "RC4", min_times=1), optional=True),
        ),
    )
    match_grammar = OneOf(
        Sequence(
            OneOf("CREATE", "ALTER"),
            "ENDPOINT",
            NAME,
            AUTHORIZATION,
            Sequence("STATE", EQUALS, OneOf("STARTED", "STOPPED", "DISABLED"), optional=True),
            Sequence(
                "AS",
                "TCP",
                Bracketed(
                    Delimited(
                        option("LISTENER_PORT", INTEGER),
                        option("LISTENER_IP", OneOf("ALL", Bracketed(STRING), STRING)),
                    )
                ),
                optional=True,
            ),
            Sequence(
                "FOR",
                "SERVICE_BROKER",
                Bracketed(
                    Delimited(
                        option("AUTHENTICATION", _authentication),
                        option("ENCRYPTION", _encryption),
                        option("MESSAGE_FORWARDING", OneOf("ENABLED", "DISABLED")),
                        option("MESSAGE_FORWARD_SIZE", INTEGER),
                    )
                ),
                optional=True,
            ),
        ),
        Sequence("DROP", "ENDPOINT", NAME),
    )


class ExecuteAsStatementSegment(BaseSegment):
    """EXECUTE AS and REVERT as statements."""

    type = "execute_as_statement"
    match_grammar = OneOf(
        Sequence(
            OneOf("EXECUTE", "EXEC"),
            "AS",
            OneOf("CALLER", Sequence(OneOf("LOGIN", "USER"), EQUALS, STRING)),
            Sequence(
                "WITH",
                OneOf(
                    Sequence("NO", "REVERT"),
                    Sequence("COOKIE", "INTO", Ref("ParameterNameSegment")),
                ),
                optional=True,
            ),
        ),
        Sequence(
            "REVERT", Sequence("WITH", "COOKIE", EQUALS, Ref("ParameterNameSegment"), optional=True)
        ),
    )


class AlterTableSetStatementSegment(BaseSegment):
    """ALTER TABLE .. SET (LOCK_ESCALATION = ..)."""

    type = "alter_table_set_statement"
    match_grammar = Sequence(
        "ALTER",
        "TABLE",
        Ref("TableReferenceSegment"),
        "SET",
        Bracketed(option("LOCK_ESCALATION", OneOf("AUTO", "TABLE", "DISABLE"))),
    )


class SetXmlMethodStatementSegment(BaseSegment):
    """SET @x.modify('...')."""

    type = "set_xml_method_statement"
    match_grammar = Sequence("SET", Ref("ParameterNameSegment"), Ref("DatatypeMethodSegment"))


class XmlNamespacesSegment(BaseSegment):
    """XMLNAMESPACES (...) right after WITH."""

    type = "xml_namespaces"
    match_grammar = Sequence(
        "XMLNAMESPACES",
        Bracketed(
            Delimited(
                OneOf(
                    Sequence(Ref("QuotedLiteralSegmentOptWithN"), "AS", NAME),
                    Sequence("DEFAULT", Ref("QuotedLiteralSegmentOptWithN")),
                )
            )
        ),
    )


STATEMENTS = (
    MessageTypeStatementSegment,
    ContractStatementSegment,
    QueueStatementSegment,
    ServiceStatementSegment,
    RouteStatementSegment,
    RemoteServiceBindingStatementSegment,
    BrokerPriorityStatementSegment,
    EventNotificationStatementSegment,
    BrokerEndpointStatementSegment,
    ExecuteAsStatementSegment,
    AlterTableSetStatementSegment,
    SetXmlMethodStatementSegment,
)
PARTS = (QueueOptionSegment, XmlNamespacesSegment)
