"""Readers fed with what nobody should write: clean refusals only.

============  ===================================================================
``mutations`` bytes, text and tables, changed at random
``readers``   every reader, with a whole input of its own, and what it may return
``played``    configurations that are accepted, played against a plain loop
``working``   the inputs that a process has at a time
``__main__``  the command, ``python -m tests.fuzz``
============  ===================================================================
"""
