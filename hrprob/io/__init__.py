"""Ways in and out: configurations, result folders, tables and HTML pages.

================  ====================================================================
``config``        from a TOML file to an :class:`~hrprob.io.config.Experiment`, and back
``run``           play an experiment and write its result folder
``summary``       a run in numbers: JSON, a table, notes in words
``manifest``      what somebody needs to repeat a run: configuration, versions, times
``staging``       folders and files that appear whole or not at all
``run_cache``     runs of long jobs, kept and reused by a later call
``json_files``    plain data as JSON
``result_table``  a table for the terminal and for a page
``page``          a self-contained HTML page
================  ====================================================================
"""
