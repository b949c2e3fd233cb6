"""System views, functions and procedures over the live state of an instance.

Importing the package registers all of them where the executor looks: ``SYSTEM_VIEWS``,
``CATALOG_FUNCTIONS`` and ``SYSTEM_PROCEDURES`` of ``exec.objects``.
"""

import harness.broker.catalog.broker_views
import harness.broker.catalog.compatibility_views
import harness.broker.catalog.counter_views
import harness.broker.catalog.database_views
import harness.broker.catalog.dependency_views
import harness.broker.catalog.first_result_functions
import harness.broker.catalog.index_views
import harness.broker.catalog.information_schema
import harness.broker.catalog.key_views
import harness.broker.catalog.notification_views
import harness.broker.catalog.object_views
import harness.broker.catalog.principal_functions
import harness.broker.catalog.procedures
import harness.broker.catalog.runtime_views
import harness.broker.catalog.security_functions
import harness.broker.catalog.security_views
import harness.broker.catalog.session_functions
import harness.broker.catalog.time_zones
import harness.broker.catalog.transaction_views
import harness.broker.catalog.transport_views
import harness.broker.catalog.trigger_functions
import harness.broker.catalog.trigger_views
import harness.broker.catalog.xml_views  # noqa: F401
from harness.broker.catalog.deadlock_xml import Report, report
from harness.broker.catalog.functions import catalog_function
from harness.broker.catalog.refused import REFUSED_PROCEDURES

__all__ = ["REFUSED_PROCEDURES", "Report", "catalog_function", "report"]
