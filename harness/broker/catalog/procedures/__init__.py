"""System procedures in Python. Importing the package registers them by name.

Each is called with (session, arguments) and returns its status; result sets go through
``session.result``. What is known by name and not supported is listed in ``catalog.refused``.
"""

import harness.broker.catalog.procedures.describe
import harness.broker.catalog.procedures.documents
import harness.broker.catalog.procedures.first_result
import harness.broker.catalog.procedures.foreign_keys
import harness.broker.catalog.procedures.helps
import harness.broker.catalog.procedures.logs
import harness.broker.catalog.procedures.misc
import harness.broker.catalog.procedures.objects
import harness.broker.catalog.procedures.old_names
import harness.broker.catalog.procedures.properties
import harness.broker.catalog.procedures.refresh
import harness.broker.catalog.procedures.renaming
import harness.broker.catalog.procedures.routines
import harness.broker.catalog.procedures.sessions
import harness.broker.catalog.procedures.settings
import harness.broker.catalog.procedures.types  # noqa: F401
