"""The torture test: callers with journals of their own, trouble that is never polite, a verdict.

``plan`` says what a trial does, ``draw`` makes plans from seeds, ``trial`` runs one in process,
``verdict`` judges it from the callers' journals, ``shrink`` makes what it finds small.
"""
