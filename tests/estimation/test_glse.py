"""The streaming estimators against a pass over all samples in plain NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob.estimation import glse
from hrprob.estimation.confidence import ConfidenceSets
from hrprob.problem.links import Affine

LINK = Affine(slope=1.3, offset=2.1)
ADD, SHERMAN_MORRISON = jax.jit(glse.add), jax.jit(glse.sherman_morrison)


def samples(seed, n, d):
    """Contexts on the sphere and outcomes of the heteroscedastic model."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    theta, phi = np.full(d, 1.0 / np.sqrt(d)), np.linspace(-1.0, 1.0, d) / np.sqrt(d)
    return x, x @ theta + np.sqrt(LINK(x @ phi)) * rng.normal(size=n)


def by_definition(x, r, ridge):
    """θ̂ and φ̂ from the matrix of all contexts and the residuals one by one."""
    v = x.T @ x + ridge * np.eye(x.shape[1])
    theta = np.linalg.solve(v, x.T @ r)
    residuals = r - x @ theta
    return theta, np.linalg.solve(v, x.T @ ((residuals**2 - LINK.offset) / LINK.slope))


def distance(value, reference):
    return np.linalg.norm(np.asarray(value) - reference) / np.linalg.norm(reference)


def assert_same(first, second, rtol=1e-12):
    for name, a, b in zip(first._fields, first, second, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * max(1.0, np.abs(b).max()), err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "d", "ridge"),
    [
        (1, 1, 1.0),
        (100_000, 1, 1.0),
        (3, 4, 0.01),
        (4097, 4, 0.5),
        (100_000, 4, 1.0),
        (20_000, 16, 0.1),
        (100, 64, 0.01),
        (100_000, 64, 1.0),
    ],
)
def test_solve_is_the_definition(n, d, ridge):
    x, r = samples(n + d, n, d)
    statistics = glse.add_samples(glse.empty(d), x, r)
    estimates = glse.solve(statistics, ridge, LINK)
    theta, phi = by_definition(x, r, ridge)
    assert float(statistics.count) == n
    assert estimates.theta.dtype == np.float64
    assert distance(estimates.theta, theta) < 1e-9
    assert distance(estimates.phi, phi) < 1e-9
    inverse = np.linalg.inv(x.T @ x + ridge * np.eye(d))
    assert distance(estimates.inverse, inverse) < 1e-9


def stream(x, r, ridge):
    """All samples one by one, V⁻¹ by rank-one updates, as one compiled loop."""
    d = x.shape[1]

    def step(carry, sample):
        statistics, inverse = carry
        x, r = sample
        return (glse.add(statistics, x, 1.0, r, r * r), glse.sherman_morrison(inverse, x, 1.0)), None

    start = (jax.tree.map(jnp.asarray, glse.empty(d)), jnp.eye(d) / ridge)
    (statistics, inverse), _ = jax.lax.scan(step, start, (x, r))
    return statistics, glse.estimate(statistics, inverse, LINK)


@pytest.mark.parametrize("kind", ["sphere", "one direction"])
def test_a_long_stream_does_not_drift(kind):
    """After 1e5 updates V⁻¹ is off by 4e-15 on the sphere, and the estimates by 1e-14.

    With all contexts within 1e-3 of one direction V has a condition number of 8e4. There V⁻¹
    and θ̂ are off by 5e-12 and φ̂ by 7e-10, and so is the φ̂ of a fresh factorisation: it is not
    the updates that lose digits but the expansion of the squared residuals.
    """
    x, r = samples(8, 100_000, 4)
    if kind == "one direction":
        x = np.array([0.9, 0.1, 0.0, -0.2]) + 1e-3 * x
    with double_precision():
        statistics, estimates = jax.jit(stream)(x, r, 1.0)
    theta, phi = by_definition(x, r, 1.0)
    tolerance = 1e-12 if kind == "sphere" else 1e-8
    assert float(statistics.count) == 100_000
    assert distance(estimates.inverse, np.linalg.inv(x.T @ x + np.eye(4))) < tolerance
    assert distance(estimates.theta, theta) < tolerance
    assert distance(estimates.phi, phi) < tolerance


def test_halves_merge_to_the_whole():
    x, r = samples(1, 1000, 5)
    whole = glse.add_samples(glse.empty(5), x, r)
    halves = glse.merge(
        glse.add_samples(glse.empty(5), x[:321], r[:321]), glse.add_samples(glse.empty(5), x[321:], r[321:])
    )
    assert_same(halves, whole)
    assert_same(glse.add_samples(glse.add_samples(glse.empty(5), x[:321], r[:321]), x[321:], r[321:]), whole)


def test_chunks_leave_no_trace(monkeypatch):
    x, r = samples(2, 103, 3)
    whole = glse.add_samples(glse.empty(3), x, r)
    monkeypatch.setattr(glse, "_CHUNK_ROWS", 10)
    assert_same(glse.add_samples(glse.empty(3), x, r), whole)
    monkeypatch.setattr(glse, "_CHUNK_ENTRIES", 1)
    assert_same(glse.add_samples(glse.empty(3), x, r), whole)


@given(
    st.lists(st.floats(-1, 1), min_size=3, max_size=3),
    st.lists(st.floats(-5, 5), min_size=0, max_size=8),
)
def test_rounds_of_one_context_enter_together(x, outcomes):
    x, r = np.array(x), np.array(outcomes)
    start = glse.add_samples(glse.empty(3), *samples(3, 10, 3))
    start_inverse = np.linalg.inv(start.gram + np.eye(3))
    with double_precision():
        together = ADD(start, x, float(r.size), r.sum(), (r**2).sum())
        inverse = SHERMAN_MORRISON(start_inverse, x, float(r.size))
        one_by_one, inverse_one_by_one = start, start_inverse
        for outcome in outcomes:
            one_by_one = ADD(one_by_one, x, 1.0, outcome, outcome**2)
            inverse_one_by_one = SHERMAN_MORRISON(inverse_one_by_one, x, 1.0)
    assert_same(together, one_by_one)
    np.testing.assert_allclose(inverse, inverse_one_by_one, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(
        inverse, np.linalg.inv(np.asarray(together.gram) + np.eye(3)), rtol=1e-11, atol=1e-13
    )


def test_no_rounds_change_nothing_at_all():
    statistics = glse.add_samples(glse.empty(3), *samples(4, 10, 3))
    after = glse.add(statistics, [0.3, -0.2, 0.9], 0, 0.0, 0.0)
    for before, value in zip(statistics, after, strict=True):
        np.testing.assert_array_equal(value, before)
    inverse = np.linalg.inv(statistics.gram + np.eye(3))
    np.testing.assert_array_equal(glse.sherman_morrison(inverse, [0.3, -0.2, 0.9], 0), inverse)


def test_jit_and_vmap_change_nothing():
    trials = [samples(seed, 50, 3) for seed in range(4)]
    x, r = (np.stack(part) for part in zip(*trials, strict=True))

    def fit(x, r):
        statistics = glse.add_samples(glse.empty(3), x, r)
        return glse.solve(statistics, 0.5, LINK)

    with double_precision():
        mapped = jax.vmap(fit)(x, r)
        compiled = jax.jit(fit)(x[0], r[0])
        streamed = jax.vmap(lambda x, r: stream(x, r, 0.5)[1])(x, r)
    assert_same(compiled, fit(x[0], r[0]))
    for trial in range(4):
        plain = fit(x[trial], r[trial])
        assert_same(jax.tree.map(lambda leaf, trial=trial: leaf[trial], mapped), plain)
        assert_same(jax.tree.map(lambda leaf, trial=trial: leaf[trial], streamed), plain)


def test_the_hot_loop_calls_no_library():
    """A call to BLAS or LAPACK costs more than these small products."""
    x, r = samples(0, 5, 4)
    with double_precision():
        program = str(jax.make_jaxpr(lambda x, r: stream(x, r, 1.0))(x, r))
    for primitive in ("dot_general", "cholesky", "triangular_solve", "custom_call"):
        assert primitive not in program


class TestGLSE:
    def test_fit_is_the_definition_and_partial_fit_goes_on(self):
        x, r = samples(5, 2000, 4)
        theta, phi = by_definition(x, r, 0.5)
        whole = glse.GLSE(ridge=0.5, link=LINK).fit(x, r)
        parts = glse.GLSE(ridge=0.5, link=LINK)
        for start in range(0, 2000, 500):
            assert parts.partial_fit(x[start : start + 500], r[start : start + 500]) is parts
        for model in (whole, parts):
            assert distance(model.theta_, theta) < 1e-11
            assert distance(model.phi_, phi) < 1e-11
            assert (model.n_samples_, model.n_features_in_) == (2000, 4)
        assert_same(parts.statistics_, whole.statistics_)

    def test_fit_forgets(self):
        model = glse.GLSE().fit(*samples(6, 100, 3))
        x, r = samples(7, 100, 2)
        np.testing.assert_array_equal(model.fit(x, r).theta_, glse.GLSE().fit(x, r).theta_)
        assert model.n_samples_ == 100

    def test_lists_and_frames_are_welcome(self):
        pandas = pytest.importorskip("pandas")
        x, r = samples(6, 20, 3)
        theta = glse.GLSE().fit(x, r).theta_
        np.testing.assert_array_equal(glse.GLSE().fit(x.tolist(), r.tolist()).theta_, theta)
        np.testing.assert_array_equal(glse.GLSE().fit(pandas.DataFrame(x), pandas.Series(r)).theta_, theta)

    def test_predict_clips_the_variance(self):
        x, r = samples(6, 500, 3)
        model = glse.GLSE(link=LINK, variance_floor=1.9).fit(x, r)
        mean, variance = model.predict(x)
        np.testing.assert_allclose(mean, x @ model.theta_)
        raw = LINK(x @ model.phi_)
        assert raw.min() < 1.9 < raw.max()
        np.testing.assert_allclose(variance, np.where(raw < 1.9, 1.9, raw))

    def test_parameters_travel(self):
        model = glse.GLSE(ridge=2.0, link=LINK, variance_floor=0.2)
        twin = glse.GLSE(**model.get_params())
        assert twin.get_params() == {"ridge": 2.0, "link": LINK, "variance_floor": 0.2}
        assert twin.set_params(ridge=3.0).ridge == 3.0
        with pytest.raises(InvalidInput, match="`rigde` must name a parameter"):
            twin.set_params(rigde=1.0)
        with pytest.raises(InvalidInput, match="`ridge` must be above 0, got 0"):
            twin.set_params(ridge=0)

    def test_ellipsoids_have_the_radii_of_the_theory(self):
        x, r = samples(9, 300, 3)
        model = glse.GLSE(ridge=0.5, link=LINK).fit(x, r)
        for_theta, for_phi = model.confidence_ellipsoids(delta=0.2, version="corrected", c1=2.0, c2=3.0)
        bound = 2.1 / 1.3
        sets = ConfidenceSets(
            variance_max=4.2,
            dimension=3,
            ridge=0.5,
            slope=1.3,
            bound=bound,
            c1=2.0,
            c2=3.0,
            version="corrected",
        )
        assert for_theta.radius == pytest.approx(float(sets.alpha1(300, 0.2)))
        assert for_phi.radius == pytest.approx(float(sets.rho(300, 0.2 / 300**2)))
        np.testing.assert_allclose(for_phi.shape, x.T @ x + 0.5 * np.eye(3), rtol=1e-12)
        np.testing.assert_array_equal(for_theta.center, model.theta_)
        np.testing.assert_array_equal(for_phi.center, model.phi_)
        narrow, _ = model.confidence_ellipsoids(delta=0.2, variance_max=1.0, bound=1.0, version="corrected")
        assert narrow.radius < for_theta.radius

    def test_an_ellipsoid_ends_at_its_radius(self):
        x, r = samples(9, 300, 3)
        ellipsoid, _ = glse.GLSE(link=LINK).fit(x, r).confidence_ellipsoids()
        directions = np.random.default_rng(0).normal(size=(20, 3))
        length = np.sqrt(np.einsum("ni,ij,nj->n", directions, ellipsoid.shape, directions))
        edge = ellipsoid.radius * directions / length[:, None]
        assert ellipsoid.contains(ellipsoid.center + 0.999 * edge).all()
        assert not ellipsoid.contains(ellipsoid.center + 1.001 * edge).any()
        assert ellipsoid.contains(ellipsoid.center) is True

    def test_the_sets_need_contexts_in_the_ball(self):
        x, r = samples(9, 30, 3)
        model = glse.GLSE(link=LINK).fit(2.0 * x, r)
        with pytest.raises(InvalidInput, match=r"`X` must have rows of norm at most 1, got 2\.0"):
            model.confidence_ellipsoids()

    @pytest.mark.parametrize("use", ["predict", "confidence_ellipsoids"])
    def test_not_fitted(self, use):
        model = glse.GLSE()
        call = (lambda: model.predict([[1.0]])) if use == "predict" else model.confidence_ellipsoids
        with pytest.raises(InvalidInput, match=r"`GLSE` must be fitted.*call `fit`"):
            call()

    @pytest.mark.parametrize(
        ("x", "r", "message"),
        [
            ([1.0, 2.0], [1.0, 2.0], r"`X` must be an array of 2 axes, not empty, got \(2,\)"),
            (np.empty((0, 2)), [], r"`X` must be an array of 2 axes, not empty, got \(0, 2\)"),
            ([[1.0], [2.0]], [[1.0], [2.0]], r"`r` must be an array of 1 axis, not empty, got \(2, 1\)"),
            ([[1.0], [2.0]], [1.0], "`r` must have 2 entries, got 1"),
            ([[1.0], [np.nan]], [1.0, 2.0], r"`X` must hold finite numbers only, got nan: entry \[1, 0\]"),
            ([[1.0], [2.0]], [1.0, np.inf], r"`r` must hold finite numbers only, got inf: entry \[1\]"),
            ([["a"], ["b"]], [1.0, 2.0], "`X` must hold numbers only"),
        ],
    )
    def test_unusable_samples_are_refused(self, x, r, message):
        with pytest.raises(InvalidInput, match=message):
            glse.GLSE().fit(x, r)

    def test_the_dimension_may_not_change(self):
        model = glse.GLSE().fit(*samples(1, 10, 3))
        x, r = samples(1, 10, 2)
        with pytest.raises(InvalidInput, match=r"`X` must have 3 columns, got \(10, 2\)"):
            model.partial_fit(x, r)
        with pytest.raises(InvalidInput, match=r"`X` must have 3 columns"):
            model.predict(x)
        assert model.n_samples_ == 10

    @pytest.mark.parametrize(
        "params", [{"ridge": 0.0}, {"variance_floor": -1.0}, {"link": lambda z: z}, {"ridge": "1"}]
    )
    def test_unusable_parameters_are_refused(self, params):
        with pytest.raises(InvalidInput, match=f"`{next(iter(params))}`"):
            glse.GLSE(**params)


def test_parameters_are_set_all_or_none() -> None:
    model = glse.GLSE(ridge=2.0)
    with pytest.raises(InvalidInput, match="variance_floor"):
        model.set_params(ridge=3.0, variance_floor=-1.0)
    assert model.get_params()["ridge"] == 2.0
    assert model.set_params(ridge=3.0).ridge == 3.0
