"""The estimator object: fitting, prediction, parameters and confidence ellipsoids."""

import numpy as np
import pytest

from hrprob._core.errors import InvalidInput
from hrprob.estimation.confidence import ConfidenceSets
from hrprob.estimation.estimator import GLSE
from tests.estimation.samples import LINK, assert_same, by_definition, distance, samples


class TestGLSE:
    def test_fit_is_the_definition_and_partial_fit_adds_samples(self):
        x, r = samples(5, 2000, 4)
        theta, phi = by_definition(x, r, 0.5)
        whole = GLSE(ridge=0.5, link=LINK).fit(x, r)
        parts = GLSE(ridge=0.5, link=LINK)
        for start in range(0, 2000, 500):
            assert parts.partial_fit(x[start : start + 500], r[start : start + 500]) is parts
        for model in (whole, parts):
            assert distance(model.theta_, theta) < 1e-11
            assert distance(model.phi_, phi) < 1e-11
            assert (model.n_samples_, model.n_features_in_) == (2000, 4)
        assert_same(parts.statistics_, whole.statistics_)

    def test_fit_discards_earlier_samples(self):
        model = GLSE().fit(*samples(6, 100, 3))
        x, r = samples(7, 100, 2)
        np.testing.assert_array_equal(model.fit(x, r).theta_, GLSE().fit(x, r).theta_)
        assert model.n_samples_ == 100

    def test_lists_and_frames_are_accepted(self):
        pandas = pytest.importorskip("pandas")
        x, r = samples(6, 20, 3)
        theta = GLSE().fit(x, r).theta_
        np.testing.assert_array_equal(GLSE().fit(x.tolist(), r.tolist()).theta_, theta)
        np.testing.assert_array_equal(GLSE().fit(pandas.DataFrame(x), pandas.Series(r)).theta_, theta)

    def test_predict_clips_the_variance(self):
        x, r = samples(6, 500, 3)
        model = GLSE(link=LINK, variance_floor=1.9).fit(x, r)
        mean, variance = model.predict(x)
        np.testing.assert_allclose(mean, x @ model.theta_)
        raw = LINK(x @ model.phi_)
        assert raw.min() < 1.9 < raw.max()
        np.testing.assert_allclose(variance, np.where(raw < 1.9, 1.9, raw))

    def test_parameters_can_be_copied_and_set(self):
        model = GLSE(ridge=2.0, link=LINK, variance_floor=0.2)
        copy = GLSE(**model.get_params())
        assert copy.get_params() == {"ridge": 2.0, "link": LINK, "variance_floor": 0.2}
        assert copy.set_params(ridge=3.0).ridge == 3.0
        with pytest.raises(InvalidInput, match="`rigde` must name a parameter"):
            copy.set_params(rigde=1.0)
        with pytest.raises(InvalidInput, match="`ridge` must be above 0, got 0"):
            copy.set_params(ridge=0)

    def test_ellipsoids_have_the_radii_of_the_theory(self):
        x, r = samples(9, 300, 3)
        model = GLSE(ridge=0.5, link=LINK).fit(x, r)
        for_theta, for_phi = model.confidence_ellipsoids(delta=0.2, version="corrected", c1=2.0, c2=3.0)
        bound = 2.1 / 1.3
        confidence = ConfidenceSets(
            variance_max=4.2,
            dimension=3,
            ridge=0.5,
            slope=1.3,
            bound=bound,
            c1=2.0,
            c2=3.0,
            version="corrected",
        )
        assert for_theta.radius == pytest.approx(float(confidence.alpha1(300, 0.2)))
        assert for_phi.radius == pytest.approx(float(confidence.rho(300, 0.2 / 300**2)))
        np.testing.assert_allclose(for_phi.shape, x.T @ x + 0.5 * np.eye(3), rtol=1e-12)
        np.testing.assert_array_equal(for_theta.center, model.theta_)
        np.testing.assert_array_equal(for_phi.center, model.phi_)
        narrow, _ = model.confidence_ellipsoids(delta=0.2, variance_max=1.0, bound=1.0, version="corrected")
        assert narrow.radius < for_theta.radius

    def test_an_ellipsoid_ends_at_its_radius(self):
        x, r = samples(9, 300, 3)
        ellipsoid, _ = GLSE(link=LINK).fit(x, r).confidence_ellipsoids()
        directions = np.random.default_rng(0).normal(size=(20, 3))
        length = np.sqrt(np.einsum("ni,ij,nj->n", directions, ellipsoid.shape, directions))
        edge = ellipsoid.radius * directions / length[:, None]
        assert ellipsoid.contains(ellipsoid.center + 0.999 * edge).all()
        assert not ellipsoid.contains(ellipsoid.center + 1.001 * edge).any()
        assert ellipsoid.contains(ellipsoid.center) is True

    def test_the_sets_need_contexts_in_the_ball(self):
        x, r = samples(9, 30, 3)
        model = GLSE(link=LINK).fit(2.0 * x, r)
        with pytest.raises(InvalidInput, match=r"`X` must have rows of norm at most 1, got 2\.0"):
            model.confidence_ellipsoids()

    @pytest.mark.parametrize("use", ["predict", "confidence_ellipsoids"])
    def test_not_fitted(self, use):
        model = GLSE()
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
            GLSE().fit(x, r)

    def test_the_dimension_may_not_change(self):
        model = GLSE().fit(*samples(1, 10, 3))
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
            GLSE(**params)


def test_projected_estimates_are_the_nearest_in_the_norm_of_v() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(12, 3)) * [1.0, 0.5, 0.2]
    model = GLSE().fit(x, x @ [3.0, -1.0, 2.0] + rng.normal(size=12))
    estimates, shape = (model.theta_, model.phi_), model.statistics_.gram + np.eye(3)
    projected = model.project(bound_theta=0.7, bound=0.1)
    for estimate, inside, bound in zip(estimates, projected, (0.7, 0.1), strict=True):
        assert np.linalg.norm(estimate) > bound
        assert np.linalg.norm(inside) == pytest.approx(bound, rel=1e-9)
        # Nearest: the gradient of the distance is normal to the sphere.
        gradient = np.asarray(shape @ (estimate - inside))
        np.testing.assert_allclose(gradient / np.linalg.norm(gradient), inside / bound, rtol=1e-6)
    for estimate, same in zip(estimates, model.project(bound_theta=100.0, bound=100.0), strict=True):
        np.testing.assert_array_equal(estimate, same)


@pytest.mark.parametrize("bounds", [{"bound_theta": 0.0}, {"bound": -1.0}])
def test_projection_needs_balls(bounds: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match=f"`{next(iter(bounds))}`"):
        GLSE().fit([[1.0]], [1.0]).project(**bounds)


def test_one_unusable_parameter_leaves_all_as_they_were() -> None:
    model = GLSE(ridge=2.0)
    with pytest.raises(InvalidInput, match="variance_floor"):
        model.set_params(ridge=3.0, variance_floor=-1.0)
    assert model.get_params()["ridge"] == 2.0
    assert model.set_params(ridge=3.0).ridge == 3.0
