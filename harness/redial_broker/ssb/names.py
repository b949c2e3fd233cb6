"""Names and ids of what every Service Broker database is born with (sys.service_message_types)."""

from __future__ import annotations

PREFIX = "http://schemas.microsoft.com/SQL/"
"""The engine's own names start with http, whatever newer documentation pages print."""

ERROR = PREFIX + "ServiceBroker/Error"
END_DIALOG = PREFIX + "ServiceBroker/EndDialog"
DIALOG_TIMER = PREFIX + "ServiceBroker/DialogTimer"
DEFAULT = "DEFAULT"
EVENT_NOTIFICATION = PREFIX + "Notifications/EventNotification"
POST_EVENT = PREFIX + "Notifications/PostEventNotification"
EVENT_SERVICE = PREFIX + "Notifications/EventNotificationService"

NONE, EMPTY, XML = "N ", "E ", "X "
"""Values of the validation column, char(2)."""

_NOTICE = PREFIX + "ServiceBroker/BrokerConfigurationNotice/"
_DIAGNOSTIC = PREFIX + "ServiceBroker/ServiceDiagnostic/"

MESSAGE_TYPES: tuple[tuple[int, str, str], ...] = (
    (1, ERROR, XML),
    (2, END_DIALOG, EMPTY),
    (3, PREFIX + "Notifications/QueryNotification", XML),
    (4, PREFIX + "Notifications/EventNotification", XML),
    (5, DIALOG_TIMER, EMPTY),
    (6, _NOTICE + "MissingRoute", XML),
    (7, _NOTICE + "FailedRoute", XML),
    (8, _NOTICE + "MissingRemoteServiceBinding", XML),
    (9, _NOTICE + "FailedRemoteServiceBinding", XML),
    (10, PREFIX + "ServiceBroker/ServiceEcho/Echo", NONE),
    (11, _DIAGNOSTIC + "Query", XML),
    (12, _DIAGNOSTIC + "Status", XML),
    (13, _DIAGNOSTIC + "Description", NONE),
    (14, DEFAULT, NONE),
)
"""(id, name, validation) of the built-in message types, as dumped by practitioners."""

BY_INITIATOR, BY_TARGET, BY_ANY = 1, 2, 3
"""Who may send a message type: bits, so that one AND decides."""

CONTRACTS: tuple[tuple[int, str, dict[str, int]], ...] = (
    (
        1,
        PREFIX + "Notifications/PostQueryNotification",
        {PREFIX + "Notifications/QueryNotification": BY_INITIATOR},
    ),
    (
        2,
        PREFIX + "Notifications/PostEventNotification",
        {PREFIX + "Notifications/EventNotification": BY_INITIATOR},
    ),
    (
        3,
        PREFIX + "ServiceBroker/BrokerConfigurationNotice",
        {
            _NOTICE + name: BY_INITIATOR
            for name in (
                "MissingRoute",
                "FailedRoute",
                "MissingRemoteServiceBinding",
                "FailedRemoteServiceBinding",
            )
        },
    ),
    (4, PREFIX + "ServiceBroker/ServiceEcho", {PREFIX + "ServiceBroker/ServiceEcho/Echo": BY_ANY}),
    (
        5,
        PREFIX + "ServiceBroker/ServiceDiagnostic",
        {
            _DIAGNOSTIC + "Query": BY_INITIATOR,
            _DIAGNOSTIC + "Status": BY_TARGET,
            _DIAGNOSTIC + "Description": BY_TARGET,
        },
    ),
    (6, DEFAULT, {DEFAULT: BY_ANY}),
)
"""(id, name, usages) of the built-in contracts."""

SYSTEM_SERVICES: tuple[tuple[int, str, int, str, tuple[str, ...]], ...] = (
    (
        1,
        PREFIX + "Notifications/QueryNotificationService",
        1977058079,
        "QueryNotificationErrorsQueue",
        (PREFIX + "Notifications/PostQueryNotification",),
    ),
    (2, EVENT_SERVICE, 2009058193, "EventNotificationErrorsQueue", (POST_EVENT,)),
    (
        3,
        PREFIX + "ServiceBroker/ServiceBroker",
        2041058307,
        "ServiceBrokerQueue",
        (PREFIX + "ServiceBroker/ServiceDiagnostic", PREFIX + "ServiceBroker/ServiceEcho"),
    ),
)
"""(service id, service, object id of its queue in schema dbo, queue, contracts) of what every
database is born with. Names are documented, the queues' ids as seen on real servers."""

SYSTEM_TABLES = {row[2]: row[2] + 16000057 for row in SYSTEM_SERVICES}
"""Object id of a system queue -> that of its internal table (ids step by that much)."""

FIRST_USER_ID = 65536
"""User message types, contracts, services and routes have ids above the system's."""

NEVER = 2147483647
"""LIFETIME of a dialog that states none, in seconds: about 68 years (BEGIN DIALOG page)."""
