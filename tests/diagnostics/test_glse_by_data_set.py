"""The GLSE of every data set, compared with plain NumPy."""

import numpy as np
import pytest

import hrprob
from hrprob.diagnostics.glse_by_data_set import first_users, glse_by_data_set

from .toy import PROBLEM, toy


def rounds_of(data, number, users):
    """Single rounds with the same sums as the stays: the mean, shifted up and down."""
    rows, outcomes = [], []
    for row in range(users):
        m, total, squares = (float(leaf[number, row]) for leaf in data.stays[1:])
        away = np.linspace(-1, 1, int(m)) if m > 1 else np.zeros(1)
        rest = max(squares - total**2 / m, 0.0)
        away = away * np.sqrt(rest / np.sum(away**2)) if m > 1 else away
        rows += [data.stays.x[number, row]] * int(m)
        outcomes += list(total / m + away)
    return np.array(rows), np.array(outcomes)


def test_each_data_set_has_its_glse():
    data, _ = toy(sets=3)
    # One round per stay has no spread about its mean: the sums are made to agree.
    stays = data.stays._replace(
        squares=np.where(data.stays.rounds == 1, data.stays.total**2, data.stays.squares)
    )
    data = data._replace(stays=stays)
    theta, phi, of_theta, of_phi = glse_by_data_set(first_users(data, 6, 3), PROBLEM.link)
    for number in range(3):
        x, r = rounds_of(data, number, 6)
        plain = hrprob.GLSE(ridge=1.0, link=PROBLEM.link).fit(x, r)
        np.testing.assert_allclose(theta[number], plain.theta_, rtol=1e-9)
        np.testing.assert_allclose(phi[number], plain.phi_, rtol=1e-9)
        variance = plain.predict(x)[1]
        inverse = np.linalg.inv(x.T @ x + np.eye(2))
        for found, weight in ((of_theta, variance), (of_phi, 2 * variance**2)):
            spread = inverse @ (x.T * weight) @ x @ inverse
            np.testing.assert_allclose(found[number], np.sqrt(np.diagonal(spread)), rtol=1e-9)


@pytest.mark.parametrize("users", [3, 9])
def test_users_beyond_the_first_are_ignored(users):
    data, _ = toy(sets=2)
    some = first_users(data, users, 2)
    cut = type(some)(*(leaf[:, :users] for leaf in data.stays))
    for one, other in zip(
        glse_by_data_set(some, PROBLEM.link), glse_by_data_set(cut, PROBLEM.link), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12)
