"""System procedures in Python. Importing the package registers them by name.

Each is called with (session, arguments) and returns its status; result sets go through
``session.result``. What is known by name and not supported is listed in ``exec.documented``.
"""

import redial_broker.catalog.procedures.describe
import redial_broker.catalog.procedures.documents
import redial_broker.catalog.procedures.first_result
import redial_broker.catalog.procedures.foreign_keys
import redial_broker.catalog.procedures.helps
import redial_broker.catalog.procedures.logs
import redial_broker.catalog.procedures.misc
import redial_broker.catalog.procedures.objects
import redial_broker.catalog.procedures.old_names
import redial_broker.catalog.procedures.privileges
import redial_broker.catalog.procedures.properties
import redial_broker.catalog.procedures.refresh
import redial_broker.catalog.procedures.renaming
import redial_broker.catalog.procedures.routines
import redial_broker.catalog.procedures.sessions
import redial_broker.catalog.procedures.settings
import redial_broker.catalog.procedures.types  # noqa: F401
