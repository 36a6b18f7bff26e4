"""Problems on which several policies are tested."""

import numpy as np

import hrprob

PROBLEM = hrprob.Problem(
    theta=[0.5, -0.4, 0.2],
    phi=[0.9, 0.3, -1.0],
    link=hrprob.Affine(0.8, 2.0),
    contexts=hrprob.Sphere(5),
    satisfaction=hrprob.UniformLevels(-0.5, 1.0),
)


ONE_SET = hrprob.Problem(
    theta=[0.1, 0.2, 0.3, 0.45],
    phi=[-0.5, 0.3, 0.0, 0.2],
    contexts=hrprob.Finite([0.9 * np.eye(4)]),
    satisfaction=hrprob.FixedLevels(-0.2),
)
