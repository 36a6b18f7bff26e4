"""The default policy."""

from hrprob.policies.contextual_ids import ContextualIDS

__all__ = ["DEFAULT"]

DEFAULT = ContextualIDS
"""The policy whose worst regret ratio over the suite of problems was smallest when it was chosen.

``hrprob suite --held-out`` ranks it on problems that it was not chosen on.
"""
