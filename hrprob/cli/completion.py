"""Completion of commands, options and names in the shell, where argcomplete is installed (``hrprob[completion]``).

It is switched on once per shell: ``eval "$(register-python-argcomplete hrprob)"`` in ``~/.bashrc`` or ``~/.zshrc``,
``register-python-argcomplete --shell fish hrprob | source`` in the configuration of fish.
"""

from __future__ import annotations

import argparse
import os

__all__ = ["complete"]


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer the shell and end the process, if it asks for completions."""
    if "_ARGCOMPLETE" not in os.environ:
        return
    import argcomplete

    argcomplete.autocomplete(parser)
