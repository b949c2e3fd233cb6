"""The version: written here and nowhere else. The package, the stamp of each procedure and the
deployment history take it from here.
"""

VERSION = "0.1.0"
