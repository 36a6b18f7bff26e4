"""``python -m hrprob.cli`` is ``hrprob``."""

from hrprob.cli import console_main

console_main()
