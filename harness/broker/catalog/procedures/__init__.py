"""System procedures in Python. Importing the package registers them by name.

Each is called with (session, arguments) and returns its status; result sets go through
``session.result``. What is known by name and not supported is listed in ``catalog.refused``.
"""

import harness.broker.catalog.procedures.describe
import harness.broker.catalog.procedures.first_result
<<<<<<< HEAD
import harness.broker.catalog.procedures.helps
=======
import harness.broker.catalog.procedures.logs
>>>>>>> af99b9a (The ERRORLOG by T-SQL, user messages in full, sp_who2 and sp_lock, DBCC INPUTBUFFER, OPENTRAN and USEROPTIONS, texts of handles and input buffers)
import harness.broker.catalog.procedures.misc
import harness.broker.catalog.procedures.objects
import harness.broker.catalog.procedures.properties
import harness.broker.catalog.procedures.refresh
import harness.broker.catalog.procedures.renaming
import harness.broker.catalog.procedures.routines
<<<<<<< HEAD
import harness.broker.catalog.procedures.settings
=======
import harness.broker.catalog.procedures.sessions
>>>>>>> af99b9a (The ERRORLOG by T-SQL, user messages in full, sp_who2 and sp_lock, DBCC INPUTBUFFER, OPENTRAN and USEROPTIONS, texts of handles and input buffers)
import harness.broker.catalog.procedures.types  # noqa: F401
