"""The part that configurations of plug-ins have in common: a small problem with a noise and a policy of one's own."""

SMALL = """
[problem]
theta = [0.6, 0.3]
phi = [0.5, 0.9]
noise = "logistic"
contexts = { kind = "ball", actions = 3 }
[run]
users = 40
trials = 2
[[policy]]
kind = "mean-or-random"
name = "own"
share = 0.25
"""
