"""The posterior of θ and φ: one engine per file, all behind one protocol (:mod:`.base`).

==============================  ================================================================
module                          contents
==============================  ================================================================
``target``                      the density p(z) that every engine approximates
``sites``                       latent sites of a model's program beyond θ and φ
``base``, ``engines``           the protocol of engines, and their registry
``normal``                      beliefs that are normal distributions
``laplace``, ``smc``            streaming engines
``svi``, ``nuts``               batch engines, by NumPyro
``inference``                   fitting and drawing with any engine
``importance``                  importance weights and the Pareto k̂ of an approximation
==============================  ================================================================
"""
