"""What to use where nothing speaks for another policy."""

from hrprob.policies.contextual_ids import ContextualIDS

__all__ = ["DEFAULT"]

DEFAULT = ContextualIDS
"""The policy with the least worst-case ratio over the suite of problems."""
