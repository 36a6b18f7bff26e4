"""The default policy."""

from hrprob.policies.contextual_ids import ContextualIDS

__all__ = ["DEFAULT"]

DEFAULT = ContextualIDS
"""The policy whose worst regret ratio over the suite of problems is smallest."""
