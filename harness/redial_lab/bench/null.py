"""The null server in a process of its own: the wire's cost without an engine behind it."""

from redial_broker.tds.null import NullInstance
from redial_broker.tds.serve import main

if __name__ == "__main__":
    main(0, instance=NullInstance())
