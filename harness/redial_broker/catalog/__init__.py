"""System views, functions and procedures over the live state of an instance.

Importing the package registers all of them where the executor looks: ``SYSTEM_VIEWS``,
``CATALOG_FUNCTIONS`` and ``SYSTEM_PROCEDURES`` of ``exec.objects``.
"""

import redial_broker.catalog.broker_dynamic_views
import redial_broker.catalog.broker_views
import redial_broker.catalog.column_views
import redial_broker.catalog.compatibility_views
import redial_broker.catalog.conversation_views
import redial_broker.catalog.counter_views
import redial_broker.catalog.database_views
import redial_broker.catalog.dependency_views
import redial_broker.catalog.first_result_functions
import redial_broker.catalog.index_views
import redial_broker.catalog.information_schema
import redial_broker.catalog.key_views
import redial_broker.catalog.lock_views
import redial_broker.catalog.module_views
import redial_broker.catalog.notification_views
import redial_broker.catalog.object_views
import redial_broker.catalog.page_functions
import redial_broker.catalog.principal_functions
import redial_broker.catalog.procedures
import redial_broker.catalog.runtime_views
import redial_broker.catalog.security_functions
import redial_broker.catalog.security_views
import redial_broker.catalog.session_functions
import redial_broker.catalog.time_zones
import redial_broker.catalog.transaction_views
import redial_broker.catalog.transport_views
import redial_broker.catalog.trigger_functions
import redial_broker.catalog.trigger_views
import redial_broker.catalog.type_views
import redial_broker.catalog.xml_views  # noqa: F401
from redial_broker.catalog.deadlock_xml import Report, report
from redial_broker.catalog.functions import catalog_function

__all__ = ["Report", "catalog_function", "report"]
