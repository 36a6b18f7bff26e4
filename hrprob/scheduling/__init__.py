"""Where is it computed? In this process, in several here, or on a cluster.

=============  ======================================================================
``opening``    from what ``--scheduler`` says to a scheduler
``cluster``    tasks on Dask: processes here, or any cluster that has a scheduler
``forks``      the process that those here are forks of
``workers``    what happens in a worker: JAX prepared, versions compared, a task played
=============  ======================================================================

Tasks and the scheduler of this process are in :mod:`hrprob.simulation.tasks`.
"""
