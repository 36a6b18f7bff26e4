"""How fast hrprob is: compared with the limit of the machine, with other libraries, and as sizes grow.

    python -m benchmarks                       # all studies, into benchmarks/results.json
    python -m benchmarks paper growth          # some of them; the others stay as they are in the file
    python -m benchmarks --page                # write the tables of the documentation from the file

============  ===============================================================================
study         what it measures
============  ===============================================================================
``paper``     the paper's experiment: the C limit, a NumPy loop, every policy, ``hrprob run``
``peers``     an ordinary contextual bandit: MABWiser, river, bayesianbandits, contextualbandits
``sampling``  effective draws per second: ``nuts`` on users and on rounds, BlackJAX; cost of
              ``laplace`` and ``smc`` to their accuracy
``growth``    how the cost grows with users, dimension, actions and trials; memory
``startup``   seconds to a first decision and to a first result
============  ===============================================================================

Ratios come from one run on one machine, the parts in turns, and the least of several repetitions counts: other work can
only add. Seconds are CPU seconds of all threads unless they are called wall. Compilation is measured apart. Other
libraries are the optional extra ``bench``; what is not installed is said to be missing.
"""
