"""How do results depend on the settings? One experiment at many points of its configuration.

==============  =====================================================================
``values``      the values of a field: a list, a range, draws
``design``      which points there are: a grid, random draws, a Latin hypercube
``fields``      fields of a configuration by their names, and an experiment at a point
``layout``      the arrays of a sweep: axes, variables, the place of every task
``zarr_files``  these arrays on disk, a file per task and variable, with checksums
``points``      what is played at every point, for readers of the results
``play``        ``hrprob.sweep``: play the points and write the result folder
``summary``     a sweep in numbers: JSON and a table
==============  =====================================================================
"""
