"""Ways in and out: configurations, result folders, tables and HTML pages.

================  ====================================================================
``config``        from a TOML file to an :class:`~hrprob.io.config.Experiment`, and back
``template``      a configuration to start from
``run``           play an experiment and write its result folder
``summary``       a run in numbers: JSON, a table, notes in words
``manifest``      what is needed to repeat a run: configuration, versions, times
``staging``       folders and files that appear whole or not at all
``exchange``      two folders change places in one step
``locking``       one process at a time writes to a destination
``unfinished``    what a run that was stopped leaves for ``--resume``
``chunks``        finished chunks of a run on disk
``netcdf``        netCDF files, written whole and read with one kind of error
``checking``      whether a dataset is a result
``run_cache``     runs of long jobs, kept and reused by a later call
``json_files``    plain data as JSON
``result_table``  a table for the terminal and for a page
``page``          a self-contained HTML page
================  ====================================================================
"""
