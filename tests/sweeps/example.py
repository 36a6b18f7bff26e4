"""A small sweep, with the shapes of the run in tests/io."""

import hrprob
from tests.io.example import TRIALS, USERS

PROBLEM = hrprob.Problem(theta=[0.6, 0.3], phi=[0.5, 0.9])
POLICIES = {"Zufall (±)": hrprob.Random(), "oracle": hrprob.Oracle()}
SIZES = {"users": USERS, "trials": TRIALS, "seed": 3}
FIELDS = {"problem.satisfaction.low": [-1.0, 0.0, 0.5], "problem.link.offset": [2.0, 3.0]}


class Elsewhere:
    """A scheduler that plays tasks as if elsewhere: in another order, and it may break down on the way."""

    def __init__(self, play, breaks_after=None):
        self._play, self._left, self.played = play, breaks_after, []

    def play(self, tasks, report, store):
        for number in reversed(range(len(tasks))):
            if self._left == len(self.played):
                raise KeyboardInterrupt
            self.played.append(tasks[number])
            report(tasks[number].size)
            yield number, self._play(tasks[number])
