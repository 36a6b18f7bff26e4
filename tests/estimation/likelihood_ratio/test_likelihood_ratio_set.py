"""The set compared with its definition in plain NumPy, its projections with grids and with points of the set."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.models import Stays
from tests.estimation.likelihood_ratio import plain


@pytest.fixture(scope="module")
def four() -> Any:
    """A set in four dimensions, and its sample."""
    x, r, user, theta, phi = plain.sample(3, users=120, d=4)
    return hrprob.LikelihoodRatioSet(predictive="glse").fit(x, r, user), (x, r, user, theta, phi)


def test_ln_q_and_membership_are_those_of_the_definition(four: Any) -> None:
    known, (x, r, user, theta, phi) = four
    expected = plain.glse_log_q(x, r, user)
    np.testing.assert_allclose(known.log_q_, expected, rtol=1e-9)
    threshold = expected.sum() + np.log(0.1)
    assert known.threshold == pytest.approx(threshold, rel=1e-12)
    rng, verdicts = np.random.default_rng(0), []
    for share in np.linspace(0.0, 1.0, 40):
        away = rng.normal(size=(2, 4)) * share
        pair = theta + 0.5 * away[0], phi + away[1]
        short = np.linalg.norm(pair[0]) <= 1 and np.linalg.norm(pair[1]) <= 2
        inside = short and plain.log_likelihood(*pair, x, r) >= threshold
        assert known.contains(*pair) == inside
        verdicts.append(inside)
    assert 5 < sum(verdicts) < 35


def test_rows_added_in_pieces_give_the_same_set(four: Any) -> None:
    whole, (x, r, user, _, _) = four
    pieces, half = hrprob.LikelihoodRatioSet(predictive="glse"), int(np.searchsorted(user, 50))
    pieces.fit(x[:half], r[:half], user[:half]).partial_fit(x[half:], r[half:], user[half:])
    np.testing.assert_allclose(pieces.log_q_, whole.log_q_, rtol=1e-12)
    last = jax_free_row(whole.data_, -1)
    before = hrprob.LikelihoodRatioSet(predictive="glse").update(Stays(*(leaf[:-1] for leaf in whole.data_)))
    before.add_stay(*last)
    np.testing.assert_allclose(before.log_q_, whole.log_q_, rtol=1e-12)


def jax_free_row(data: Any, row: int) -> Any:
    return tuple(np.asarray(leaf)[row] for leaf in data)


@pytest.mark.parametrize(
    "predictive",
    [
        "glse",
        "weighted",
        pytest.param({"kind": "laplace", "draws": 32, "refit": 16.0}, marks=pytest.mark.slow),
        pytest.param({"kind": "smc", "draws": 32, "refit": 16.0}, marks=pytest.mark.slow),
    ],
)
def test_a_predictive_looks_at_earlier_rows_only(four: Any, predictive: Any) -> None:
    """A change of the last outcomes changes no earlier ln q: it would if a predictive looked ahead."""
    _, (x, r, user, _, _) = four
    # Posteriors are fitted after users 1 and 16.
    few = user < 24
    x, r, user = x[few], r[few], user[few]
    sets = [
        hrprob.LikelihoodRatioSet(predictive=predictive).fit(x, outcomes, user)
        for outcomes in (r, np.where(user >= 20, r + 3.0, r))
    ]
    np.testing.assert_array_equal(sets[0].log_q_[:20], sets[1].log_q_[:20])
    assert np.all(sets[0].log_q_[20:] != sets[1].log_q_[20:])


def test_projections_in_one_dimension_are_those_of_a_grid() -> None:
    x, r, user, _, _ = plain.sample(1, users=60, d=1)
    known = hrprob.LikelihoodRatioSet().fit(x, r, user)
    theta, phi = plain.grid_in_one_dimension(x, r, known.threshold)
    # The grid is 1/400 of a unit wide in θ and 1/200 in φ.
    np.testing.assert_allclose(known.mean_interval([1.0]), [theta.min(), theta.max()], atol=0.004)
    expected = [2 + phi.min(), 2 + phi.max()]
    np.testing.assert_allclose(known.variance_interval([1.0]), expected, atol=0.008)
    h = hrprob.h(0.5 * theta, 2 + 0.5 * phi, -0.7)
    np.testing.assert_allclose(known.lifetime_interval([0.5], -0.7), [h.min(), h.max()], rtol=0.01)
    low, high = known.reneging_interval([0.5], -0.7)
    np.testing.assert_allclose([1 / high, 1 / low], known.lifetime_interval([0.5], -0.7))
    (outer_mean,), (outer_variance,) = known.outer_intervals([[1.0]])
    assert outer_mean[0] <= theta.min() + 0.004
    assert outer_mean[1] >= theta.max() - 0.004
    assert outer_variance[0] <= expected[0] + 0.008
    assert outer_variance[1] >= expected[1] - 0.008


def points_of(known: Any, count: int) -> np.ndarray:
    """Points of the set, most of them near its boundary: along random lines from the maximum."""
    search, rng = known._search, np.random.default_rng(0)
    centre, factor = search.maximum.v, np.linalg.cholesky(np.linalg.inv(search.information()))
    found = []
    for _ in range(count):
        line = factor @ rng.normal(size=8)
        line /= np.sqrt(line @ search.information() @ line)
        low, high = 0.0, 100.0
        for _ in range(40):
            middle = 0.5 * (low + high)
            v = centre + middle * line
            low, high = (middle, high) if known.contains(v[:4], v[4:]) else (low, middle)
        found.append(centre + low * line)
    return np.array(found)


def test_no_point_of_the_set_lies_outside_its_projections_or_its_ellipsoid(four: Any) -> None:
    known, _ = four
    points = points_of(known, 40)
    x = np.array([0.1, -0.7, 0.5, 0.5])
    u, w = points[:, :4] @ x, 2 + points[:, 4:] @ x
    slight = 1e-6
    for values, (low, high) in (
        (u, known.mean_interval(x)),
        (w, known.variance_interval(x)),
        # A lifetime has a long upper tail over the set.
        (np.log(hrprob.h(u, w, -0.4)), np.log(known.lifetime_interval(x, -0.4))),
    ):
        assert values.min() >= low - slight
        assert values.max() <= high + slight
        # Random lines come near both ends, in eight dimensions not very near.
        assert np.ptp(values) > 0.25 * (high - low)
    ellipsoid, slack = known.ellipsoid()
    assert np.all(ellipsoid.contains(points))
    assert 1.0 <= slack < 2.0
    centre = points[:, 4:] - hrprob.GLSE().fit(*four[1][:2]).phi_
    V = four[1][0].T @ four[1][0] + np.eye(4)
    assert np.sqrt(np.sum(centre @ V * centre, axis=1)).max() <= known.phi_radius() + slight


@pytest.mark.slow
@pytest.mark.parametrize("model", [{"kind": "student-t", "df": 5.0}, "mixture", "truncated-normal"])
def test_sets_of_other_models_contain_the_truth_and_exclude_others(model: Any) -> None:
    rng = np.random.default_rng(0)
    x, _, _, theta, phi = plain.sample(5, users=600, d=2, longest=1)
    e = model_of(model).noise
    uniform = rng.uniform(size=len(x))
    r = x @ theta + np.sqrt(2 + x @ phi) * quantiles(e, uniform)
    known = hrprob.LikelihoodRatioSet(model=model).fit(x, r)
    assert known.contains(theta, phi)
    assert np.all(np.isfinite(known.log_q_))
    assert not known.contains(-theta, phi)
    low, high = known.variance_interval([1.0, 0.0])
    assert low < 2 + phi[0] < high
    assert 0.2 < high - low < 3.0


def model_of(model: Any) -> Any:
    from hrprob.models import make_model

    return make_model(model)


def quantiles(noise: Any, uniform: np.ndarray) -> np.ndarray:
    """Quantiles by bisection of the distribution function."""
    low, high = np.full(uniform.shape, -40.0), np.full(uniform.shape, 40.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = np.asarray(noise.cdf(middle)) < uniform
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)


def test_a_stated_pair_has_the_e_value_of_the_definition(four: Any) -> None:
    known, (x, r, user, theta, phi) = four
    expected = plain.glse_log_q(x, r, user).sum() - plain.log_likelihood(theta, phi, x, r)
    tested = known.test(hrprob.Stated(theta, phi))
    assert tested.log_e_value == pytest.approx(expected, abs=1e-8)
    assert tested.p_value == pytest.approx(min(1.0, np.exp(-expected)))
    # A larger hypothesis has a smaller e-value.
    assert known.test(hrprob.Stated(phi=phi)).log_e_value < tested.log_e_value


def test_hypotheses_are_rejected_where_they_are_wrong_and_not_where_they_are_right() -> None:
    x, r, user, theta, phi = plain.sample(8, users=1500, d=2)
    known = hrprob.LikelihoodRatioSet().fit(x, r, user)
    long, short = [np.cos(2.3), np.sin(2.3)], [np.cos(0.5), np.sin(0.5)]
    h = hrprob.h(np.array([long, short]) @ theta, 2 + np.array([long, short]) @ phi, 1.5)
    longer, shorter = (long, short) if h[0] > h[1] else (short, long)
    assert known.test(hrprob.Homoscedastic()).p_value < 1e-3
    assert known.test(hrprob.NotLonger(longer, shorter, 1.5)).p_value < 0.05
    assert known.test(hrprob.NotLonger(shorter, longer, 1.5)).p_value == 1.0
    assert known.test(hrprob.Stated(theta=theta)).p_value > 0.1
    tested = known.test(hrprob.NotLonger(longer, shorter, 1.5))
    u, w = np.array([longer, shorter]) @ tested.theta, 2 + np.array([longer, shorter]) @ tested.phi
    # The most likely pair under a false hypothesis lies on its boundary: both stay equally long.
    np.testing.assert_allclose(*hrprob.h(u, w, 1.5), rtol=1e-4)


def few_rounds(seed: int, d: int, n: int) -> Any:
    """Contexts, outcomes and the set: so few rounds that the likelihood has several maxima."""
    rng = np.random.default_rng([seed, d, n])
    x = rng.normal(size=(n, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    r = x @ np.full(d, 0.4) + np.sqrt(x @ np.full(d, 0.6) + 2.0) * rng.normal(size=n)
    return x, r, hrprob.LikelihoodRatioSet().fit(x, r)


def test_with_few_rounds_no_pair_under_the_hypothesis_is_likelier_than_the_one_found() -> None:
    x, r, known = few_rounds(3, 2, 12)
    rng, pairs = np.random.default_rng(0), 200_000
    ways = rng.normal(size=(2, pairs, 2))
    ways /= np.linalg.norm(ways, axis=-1, keepdims=True)
    theta, phi = ways * np.array([1.0, 2.0])[:, None, None] * np.sqrt(rng.uniform(size=(2, pairs, 1)))
    u, w = theta @ x.T, phi @ x.T + 2.0
    leaving = stats.norm.logcdf((-0.3 - u[:, :2]) / np.sqrt(w[:, :2]))
    best = stats.norm.logpdf(r, u, np.sqrt(w)).sum(axis=1)[leaving[:, 0] >= leaving[:, 1]].max()
    tested = known.test(hrprob.NotLonger(x[0], x[1], -0.3))
    assert tested.log_e_value <= known.log_q_.sum() - best


def test_a_search_that_runs_off_leaves_where_it_began() -> None:
    x, _, known = few_rounds(14, 4, 24)
    assert np.isfinite(known._search.maximum.value)
    # From no start does the search end in the set's balls; an e-value of infinity would reject a true hypothesis.
    assert np.isfinite(known.test(hrprob.NotLonger(x[1], x[0], -0.3)).log_e_value)


def test_an_equal_variance_is_not_rejected_and_a_constant_entry_is_free() -> None:
    rng = np.random.default_rng(2)
    x = np.column_stack([np.full(400, 0.6), rng.uniform(-0.8, 0.8, 400)])
    r = 0.3 * x[:, 1] + np.sqrt(2 + 0.6) * rng.normal(size=400)
    tested = hrprob.LikelihoodRatioSet().fit(x, r).test(hrprob.Homoscedastic())
    assert tested.p_value > 0.1
    assert tested.phi[1] == pytest.approx(0.0, abs=1e-9)
    assert abs(tested.phi[0]) > 0.1


def test_rounds_of_a_user_who_differs_from_others_are_one_row() -> None:
    """With a random intercept the rounds of a stay are jointly normal; what rests on independent ones is refused."""
    x, _, user, theta, phi = plain.sample(4, users=200, d=2)
    rng, rho = np.random.default_rng(4), 0.4
    noise = np.sqrt(rho) * rng.normal(size=200)[user] + np.sqrt(1 - rho) * rng.normal(size=len(user))
    r = x @ theta + np.sqrt(2 + x @ phi) * noise
    known = hrprob.LikelihoodRatioSet(
        predictive="glse", model={"kind": "user-effect", "correlation": rho, "log_sd": 0.0}
    ).fit(x, r, user)
    expected = []
    for number in range(200):
        mine = user == number
        u, w, m = x[mine] @ theta, (2 + x[mine] @ phi)[0], int(mine.sum())
        covariance = w * ((1 - rho) * np.eye(m) + rho * np.ones((m, m)))
        expected.append(stats.multivariate_normal(u, covariance).logpdf(r[mine]))
    log_p = known.log_q_.sum() - known.log_ratios(theta, phi)[-1]
    assert log_p == pytest.approx(np.sum(expected), rel=1e-9)
    assert known.contains(theta, phi)
    with pytest.raises(InvalidInput, match="`model` must be normal for the closed form"):
        known.outer_intervals([[1.0, 0.0]])
    with pytest.raises(InvalidInput, match="`model` must be normal for the proof"):
        known.certified_ellipsoid()
    with pytest.raises(InvalidInput, match="`user` must be given with the model 'user-effect'"):
        known.partial_fit(x, r)
    with pytest.raises(InvalidInput, match="`user` must label users with one context each"):
        known.partial_fit([[1.0, 0.0], [0.0, 1.0]], [0.1, 0.2], [7, 7])
    with pytest.raises(InvalidInput, match="`model` must have no unknowns beyond θ and φ"):
        hrprob.LikelihoodRatioSet(model="user-effect").fit(x, r, user)


def test_what_cannot_be_used_is_refused() -> None:
    with pytest.raises(InvalidInput, match="`delta` must lie in"):
        hrprob.LikelihoodRatioSet(delta=1.0)
    with pytest.raises(InvalidInput, match="must have data"):
        hrprob.LikelihoodRatioSet().contains([0.1], [0.1])
    with pytest.raises(InvalidInput, match=r"`predictive` must be one of 'glse', .* did you mean `weighted`"):
        hrprob.LikelihoodRatioSet(predictive="wieghted")
    with pytest.raises(InvalidInput, match=r"`user` must label rounds that follow one another"):
        hrprob.LikelihoodRatioSet().fit([[1.0], [0.5], [1.0]], [0.1, 0.2, 0.3], user=[1, 2, 1])
    with pytest.raises(InvalidInput, match=r"`model` must be normal for the closed form"):
        hrprob.LikelihoodRatioSet(model="student-t").fit([[1.0]], [0.2]).outer_intervals([[1.0]])
    with pytest.raises(InvalidInput, match=r"`predictive.engine` must fit inside compiled programs"):
        hrprob.LikelihoodRatioSet(predictive={"kind": "posterior", "engine": "nuts"})
    known = hrprob.LikelihoodRatioSet().fit([[1.0]], [0.2])
    with pytest.raises(InvalidInput, match="`X` must have 1 columns"):
        known.partial_fit([[1.0, 0.0]], [0.2])
