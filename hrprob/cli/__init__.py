"""The command line: one file per command, none of which computes anything itself.

A command declares its arguments, calls a function of the library that any program can call, and prints.
Nothing heavy is imported before a command needs it, so ``hrprob --help`` answers at once.

===================================================================  ===================================
``run``, ``reproduce``, ``theory``, ``fit``, ``compare``,            the commands
``suite``, ``diagnose``, ``policies``, ``describe``, ``init``
``main``                                                             parser, exit codes, signals
``shared``, ``printing``                                             common options; lines, JSON, progress
``parser``, ``completion``                                           nearest names; completion in the shell
``jax_setup``                                                        float64 and the compilation cache
===================================================================  ===================================
"""

from hrprob.cli.jax_setup import XLA_FLAGS
from hrprob.cli.main import console_main, main

__all__ = ["XLA_FLAGS", "console_main", "main"]
