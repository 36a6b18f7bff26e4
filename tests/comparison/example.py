"""A problem on which runs take no time."""

import hrprob

TINY = hrprob.Problem(theta=[0.5, 0.2], phi=[0.5, -0.3], contexts=hrprob.Ball(3))
