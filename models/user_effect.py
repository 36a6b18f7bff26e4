r"""Outcomes of users who differ: a random intercept and a random log variance for each.

.. math:: r_{ij} = u_{ij} + \sqrt{w_{ij}}\,\Big(\sqrt{\rho}\; a_i + \sqrt{(1-\rho)\,e^{b_i - \omega^2/2}}\;
    \varepsilon_{ij}\Big), \qquad a_i \sim N(0, 1),\ b_i \sim N(0, \omega^2),\ \varepsilon_{ij} \sim N(0, 1),

with u = θᵀx and w = f(φᵀx). An outcome of a **new** user has mean u and variance w, as in every model: the effect is part of
the variance. ρ is the correlation of two rounds of a user, ω the standard deviation of users' log variances.

The effects are integrated out, so that there are no unknowns per user. Given b, the m rounds of a user are normal with a
compound-symmetric covariance: with standardised residuals e, c = (1 − ρ)e^{b − ω²/2} and e₁ = Σe, e₂ = Σe²,

.. math:: -2 \ln p(e \mid b) = m \ln 2\pi c + \ln\big(1 + \tfrac{\rho m}{c}\big) + \frac{e_2 - e_1^2/m}{c}
    + \frac{e_1^2/m}{c + \rho m}, \qquad \ln p(r) = \ln\!\int\! p(e \mid b)\,p(b)\,db - \tfrac12 \sum \ln w .

The intercept is integrated exactly, the log variance by adaptive Gauss–Hermite quadrature [1]_. Under one context per user m, Σr and
Σr² suffice; a user's contexts may also differ.

References
----------
.. [1] J. C. Pinheiro, D. M. Bates, "Approximations to the log-likelihood function in the nonlinear mixed-effects model",
   Journal of Computational and Graphical Statistics 4(1), 1995.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.distributions import constraints

from hrprob._core.errors import InvalidInput, check_number
from hrprob._core.precision import double_precision
from hrprob._core.records import set_frozen
from hrprob._core.types import AsWritten, Number
from hrprob.models import priors
from hrprob.models.base import Model, register
from hrprob.models.setting import Setting
from hrprob.noise import NORMAL, FromDistribution, Noise
from hrprob.observations import Data, Rounds, Stays

__all__ = ["UserEffect", "log_density_of_user"]

_NODES, _WEIGHTS = np.polynomial.hermite.hermgauss(15)
_LOG_2PI = math.log(2.0 * math.pi)
_SEARCH = 6
_LARGEST_LOG = 150.0
UNKNOWN = "unknown"


class Effects(NamedTuple):
    """The two parameters of users' effects; ``log_sd`` is the number 0 where variances do not differ."""

    correlation: Number  # ρ
    log_sd: Number  # ω


@register("user-effect", static=("correlation", "log_sd"))
class UserEffect(Model):
    """Normal outcomes of users with a random intercept and a random log variance each, both integrated out.

    With both numbers given every engine takes it, and every Bayesian policy that serves one action per user; the
    unknown ones are sites of the program (``user_correlation``, uniform on (0, 1), and ``user_log_sd``, half normal), which
    ``nuts`` and ``svi`` fit. A policy needs ``log_sd`` as a number: its expected lifetimes depend on it.

    Parameters
    ----------
    correlation : float or "unknown"
        ρ in [0, 1), the correlation of two rounds of one user: the intercept's share of the variance.
    log_sd : float or "unknown"
        ω ≥ 0, the standard deviation of the users' log variances.
    log_sd_scale : float
        Scale of the half-normal prior of ω, where it is unknown.

    Examples
    --------
    >>> model = UserEffect(correlation=0.4, log_sd=0.5)
    >>> float(model.outcome(jnp.asarray(0.3), jnp.asarray(2.0)).variance.round(6))
    2.0
    """

    data: ClassVar[type] = Stays
    columns: ClassVar[tuple[str, ...]] = ("user",)
    noise_kind: ClassVar[str] = "none"  # no noise of independent rounds is its own
    one_row_per_user: ClassVar[bool] = True

    correlation: AsWritten = UNKNOWN
    log_sd: AsWritten = UNKNOWN
    log_sd_scale: float = 0.5

    def __post_init__(self) -> None:
        for name, high, remedy in (
            ("correlation", 1.0, 'it is a correlation below 1, or "unknown"'),
            ("log_sd", math.inf, 'it is a standard deviation, or "unknown"'),
        ):
            value = getattr(self, name)
            if not (isinstance(value, str) and value == UNKNOWN):
                number = check_number(name, value, low=0, high=high, open_high=True, remedy=remedy)
                set_frozen(self, **{name: number})
        remedy = "it is a standard deviation"
        scale = check_number("log_sd_scale", self.log_sd_scale, low=0, open_low=True, remedy=remedy)
        set_frozen(self, log_sd_scale=scale)

    @property
    def noise(self) -> Noise:
        """The standardised noise of a new user's outcome: normal if variances do not differ, whatever ρ is."""
        if self.log_sd == UNKNOWN or (self.log_sd > 0.0 and self.correlation == UNKNOWN):
            remedy = 'its expected lifetimes depend on it; give numbers, {kind = "user-effect", correlation = 0.3, log_sd = 0.4}'
            raise InvalidInput("model.log_sd", "must be a number in a policy", self.log_sd, remedy)
        if self.log_sd == 0.0:
            return NORMAL
        with double_precision():
            return FromDistribution(self.outcome(jnp.zeros(()), jnp.ones(())))

    def outcome(self, u: jax.Array, w: jax.Array) -> dist.Distribution:
        """Return the distribution of an outcome of a new user."""
        return new_user(u, w, self._given())

    def _given(self) -> Effects:
        if UNKNOWN in (self.correlation, self.log_sd):
            remedy = "take nuts or svi, or give `correlation` and `log_sd` as numbers"
            must = "must have no unknowns beyond θ and φ for this engine or policy"
            raise InvalidInput("model", must, self.kind, remedy)
        return Effects(self.correlation, self.log_sd)

    def _effects(self) -> Effects:
        """Return the parameters within a program: sampled where they are unknown."""
        correlation, log_sd = self.correlation, self.log_sd
        if correlation == UNKNOWN:
            correlation = numpyro.sample("user_correlation", dist.Uniform(0.0, 1.0))
        if log_sd == UNKNOWN:
            log_sd = numpyro.sample("user_log_sd", dist.HalfNormal(self.log_sd_scale))
        return Effects(correlation, log_sd)

    def program(self, data: Data, setting: Setting, prior: priors.Prior) -> None:
        """Sample θ, φ, what is unknown of the effects, and the outcomes: rounds without users are new users'."""
        theta, phi = priors.sample(prior, setting)
        effects = self._effects()
        u, w = setting.moments(theta, phi, data.x)
        with numpyro.plate("row", data.x.shape[0]):
            if isinstance(data, Stays):
                numpyro.sample("stay", UserStay(u, w, data.rounds, *effects))
            elif "user" in data.columns:
                numpyro.sample("r", RoundsOfUsers(u, w, data.weight[:, 0], data.columns["user"], *effects))
            else:
                one = new_user(u[:, None], w[:, None], effects)
                numpyro.sample("r", one.mask(data.weight > 0).to_event(1))

    def observed(self, data: Data) -> dict[str, jax.Array]:
        """Return Σr and Σr² of each stay, or single rounds."""
        if isinstance(data, Stays):
            return {"stay": jnp.stack([data.total, data.squares], axis=-1)}
        return super().observed(data)

    def row_log_likelihood(self, data: Data, u: jax.Array, w: jax.Array) -> jax.Array:
        """Return the log likelihood of each row: all rounds of a user, or a round of a new user."""
        if isinstance(data, Stays):
            return stay_log_density(data, u, w, self._given())
        if "user" in data.columns:
            remedy = "users have several contexts each, so that rows are not independent; take nuts or svi"
            raise InvalidInput("engine", "must be one that runs programs", self.kind, remedy)
        return super().row_log_likelihood(data, u, w)

    def given_others(
        self, data: Rounds, u: jax.Array, w: jax.Array, sites: Mapping[str, jax.Array]
    ) -> tuple[jax.Array, jax.Array]:
        """Return ln p and the distribution function of each round (n,) given the other rounds of its user.

        This is what leaving out a round needs; ``sites`` are draws of what is unknown of the effects.
        """
        effects = Effects(
            sites.get("user_correlation", self.correlation), sites.get("user_log_sd", self.log_sd)
        )
        e = (data.r[:, 0] - u) / jnp.sqrt(w)
        sums, own = _sums_by_user(e, jnp.log(w), data.weight[:, 0], data.columns["user"])
        rest = jax.tree.map(lambda total, mine: total - mine, sums, own)
        density = _log_density(sums, effects) - _log_density(rest, effects)
        return density, _probability_given(rest, e, effects)


class _Sums(NamedTuple):
    """What the rounds of a user add up to: m, Σe, Σe², Σ ln w."""

    rounds: jax.Array
    residuals: jax.Array
    squares: jax.Array
    log_variance: jax.Array

    def split(self) -> tuple[jax.Array, jax.Array]:
        """Return (Σe)²/m and Σe² − (Σe)²/m, the part that a user's intercept explains and the part that none does.

        The second is never negative: divided by a small variance, a rounding error would be an infinite density.
        """
        between = self.residuals**2 / jnp.maximum(self.rounds, 1.0)
        return between, jnp.where(self.rounds > 1.0, jnp.maximum(self.squares - between, 0.0), 0.0)


def _sums_by_user(e: jax.Array, log_w: jax.Array, weight: jax.Array, user: jax.Array) -> tuple[_Sums, _Sums]:
    """Return the sums of each round's user (n,), and what the round itself contributes."""
    own = _Sums(weight, weight * e, weight * e * e, weight * log_w)
    number = user.astype(jnp.int32)
    totals = jax.tree.map(lambda leaf: jax.ops.segment_sum(leaf, number, user.shape[0]), own)
    return jax.tree.map(lambda leaf: leaf[number], totals), own


def stay_log_density(data: Stays, u: jax.Array, w: jax.Array, effects: Effects) -> jax.Array:
    """Return the log density of the rounds of each stay (n,), each of another user."""
    m, sd = data.rounds, jnp.sqrt(w)
    squares = (data.squares - 2.0 * u * data.total + m * u * u) / w
    return _log_density(_Sums(m, (data.total - m * u) / sd, squares, m * jnp.log(w)), effects)


def log_density_of_user(m: Number, residuals: Number, squares: Number, effects: Effects) -> jax.Array:
    """Return the log density of a user's m standardised residuals e, from Σe and Σe².

    Examples
    --------
    >>> e = jnp.asarray([0.5, -1.0])  # without effects they are independent
    >>> f"{log_density_of_user(2.0, e.sum(), (e**2).sum(), Effects(0.0, 0.0)):.4f}"
    '-2.4629'
    """
    zero = jnp.zeros(jnp.shape(m))
    return _log_density(_Sums(*jnp.broadcast_arrays(m, residuals, squares, zero)), effects)


def _log_density(sums: _Sums, effects: Effects) -> jax.Array:
    """Return ln p of the rounds of each user, the intercept integrated out exactly, the log variance by quadrature."""
    rho, omega = effects
    if isinstance(omega, float) and omega == 0.0:
        return _given_log_variance(sums, rho, omega, jnp.zeros_like(sums.rounds))
    place, width = jax.lax.stop_gradient(
        _mode(jax.lax.stop_gradient(sums), *jax.lax.stop_gradient((rho, omega)))
    )
    t = place[..., None] + math.sqrt(2.0) * width[..., None] * _NODES
    wide = jax.tree.map(lambda leaf: leaf[..., None], sums)
    each = _given_log_variance(wide, rho, omega, t) - 0.5 * t * t
    total = jax.nn.logsumexp(each + jnp.log(_WEIGHTS) + _NODES**2, axis=-1)
    return total + jnp.log(math.sqrt(2.0) * width) - 0.5 * _LOG_2PI


def _probability_given(rest: _Sums, e: jax.Array, effects: Effects) -> jax.Array:
    """Return the probability of a standardised residual below ``e``, given the sums of the user's other rounds."""
    rho, omega = effects
    place, width = _mode(rest, rho, omega)
    t = place[..., None] + math.sqrt(2.0) * width[..., None] * _NODES
    wide = jax.tree.map(lambda leaf: leaf[..., None], rest)
    log_weight = _given_log_variance(wide, rho, omega, t) - 0.5 * t * t + jnp.log(_WEIGHTS) + _NODES**2
    c = jnp.exp(_log_within(rho, omega, t))
    shrunk = rho / (c + rho * wide.rounds)
    mean, variance = shrunk * wide.residuals, c * (1.0 + shrunk)
    below = jax.scipy.stats.norm.cdf((e[..., None] - mean) / jnp.sqrt(variance))
    return jnp.sum(jax.nn.softmax(log_weight, axis=-1) * below, axis=-1)


def _given_log_variance(sums: _Sums, rho: Number, omega: Number, t: jax.Array) -> jax.Array:
    """Return ln p of a user's rounds where the user's log variance is ω·t."""
    log_c = _log_within(rho, omega, t)
    c, m = jnp.exp(log_c), sums.rounds
    between, within = sums.split()
    quadratic = within / c + between / (c + rho * m)
    return -0.5 * (m * (_LOG_2PI + log_c) + jnp.log1p(rho * m / c) + quadratic + sums.log_variance)


def _log_within(rho: Number, omega: Number, t: jax.Array) -> jax.Array:
    """Return ln c, the variance within a user of log variance ω·t, as a share of w.

    It is kept where c and c² are numbers: a sampler that strays to ω = 50 or ρ = 1 gets a small density, not an infinite one.
    """
    return jnp.clip(jnp.log1p(-rho) + omega * t - 0.5 * omega * omega, -_LARGEST_LOG, _LARGEST_LOG)


def _mode(sums: _Sums, rho: Number, omega: Number) -> tuple[jax.Array, jax.Array]:
    """Return where the integrand over t is largest, and its width there: nodes are placed around it."""
    between, within = sums.split()

    def slopes(t: jax.Array) -> tuple[jax.Array, jax.Array]:
        c = jnp.exp(_log_within(rho, omega, t))
        whole = c + rho * sums.rounds
        quadratic = within / c + between / whole
        first = sums.rounds - rho * sums.rounds / whole - quadratic + rho * (sums.residuals / whole) ** 2
        # Of the second derivative the part that is never negative.
        return -0.5 * omega * first - t, 1.0 + 0.5 * omega**2 * quadratic

    t = jnp.zeros_like(sums.rounds)
    for _ in range(_SEARCH):
        first, curvature = slopes(t)
        t = t + jnp.clip(first / curvature, -2.0, 2.0)
    return t, 1.0 / jnp.sqrt(slopes(t)[1])


def new_user(u: jax.Array, w: jax.Array, effects: Effects) -> dist.Distribution:
    """Return the distribution of an outcome of a new user: a mixture of normal distributions over the log variance."""
    rho, omega = effects
    if isinstance(omega, float) and omega == 0.0:
        return dist.Normal(u, jnp.sqrt(w))
    share = jnp.asarray(_WEIGHTS / math.sqrt(math.pi))
    exponent = omega * math.sqrt(2.0) * _NODES - 0.5 * omega * omega
    factor = jnp.exp(jnp.clip(exponent, -_LARGEST_LOG, _LARGEST_LOG))
    # The quadrature has this mean up to its own error; divided by it, the variance is w exactly.
    c = rho + (1.0 - rho) * factor / jnp.sum(share * factor)
    u, w = jnp.broadcast_arrays(u, w)
    parts = dist.Normal(u[..., None], jnp.sqrt(w[..., None] * c))
    return dist.MixtureSameFamily(dist.Categorical(probs=share), parts)


class _OfUsers(dist.Distribution):
    """What the distributions of stays and of rounds share: draws of effects."""

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}

    @constraints.dependent_property(is_discrete=False, event_dim=1)
    def support(self) -> constraints.Constraint:
        """Real numbers."""
        return constraints.real_vector

    def _effects_of(self, key: jax.Array, shape: tuple[int, ...]) -> tuple[jax.Array, jax.Array]:
        """Return intercepts √ρ·a and variances c of some users."""
        by_intercept, by_variance = jax.random.split(key)
        b = self.log_sd * jax.random.normal(by_variance, shape)
        c = (1.0 - self.correlation) * jnp.exp(b - 0.5 * self.log_sd**2)
        return jnp.sqrt(self.correlation) * jax.random.normal(by_intercept, shape), c


class UserStay(_OfUsers):
    """(Σr, Σr²) of the rounds of users under one context each; the density is that of the rounds themselves."""

    pytree_data_fields = ("u", "w", "rounds", "correlation", "log_sd")

    def __init__(
        self,
        u: jax.Array,
        w: jax.Array,
        rounds: jax.Array,
        correlation: Number,
        log_sd: Number,
        *,
        validate_args: bool | None = None,
    ) -> None:
        self.u, self.w, self.rounds = u, w, rounds
        self.correlation, self.log_sd = correlation, log_sd
        super().__init__(jnp.shape(u), (2,), validate_args=validate_args)

    def sample(self, key: jax.Array, sample_shape: tuple[int, ...] = ()) -> jax.Array:
        """Return draws: normal sums given the effects of each user."""
        from hrprob.models.gaussian import NormalStay

        by_effect, by_rounds = jax.random.split(key)
        intercept, c = self._effects_of(by_effect, sample_shape + self.batch_shape)
        mean = self.u + jnp.sqrt(self.w) * intercept
        return NormalStay(mean, self.w * c, jnp.broadcast_to(self.rounds, mean.shape)).sample(by_rounds)

    def log_prob(self, value: jax.Array) -> jax.Array:
        """Return the log density of the rounds of each user."""
        data = Stays(self.u, self.rounds, value[..., 0], value[..., 1])
        return stay_log_density(data, self.u, self.w, Effects(self.correlation, self.log_sd))


class RoundsOfUsers(_OfUsers):
    """Single rounds of users, in any order and under any contexts."""

    pytree_data_fields = ("u", "w", "weight", "user", "correlation", "log_sd")

    def __init__(
        self,
        u: jax.Array,
        w: jax.Array,
        weight: jax.Array,
        user: jax.Array,
        correlation: Number,
        log_sd: Number,
        *,
        validate_args: bool | None = None,
    ) -> None:
        self.u, self.w, self.weight, self.user = u, w, weight, user
        self.correlation, self.log_sd = correlation, log_sd
        super().__init__(jnp.shape(u), (1,), validate_args=validate_args)

    def sample(self, key: jax.Array, sample_shape: tuple[int, ...] = ()) -> jax.Array:
        """Return draws: rounds of one user share the user's effects."""
        by_effect, by_round = jax.random.split(key)
        intercept, c = self._effects_of(by_effect, sample_shape + self.batch_shape)
        number = self.user.astype(jnp.int32)
        noise = jax.random.normal(by_round, sample_shape + self.batch_shape)
        e = intercept[..., number] + jnp.sqrt(c[..., number]) * noise
        return (self.u + jnp.sqrt(self.w) * e)[..., None]

    def log_prob(self, value: jax.Array) -> jax.Array:
        """Return for each round an equal share of the log density of its user's rounds: they sum to the joint one."""
        e = (value[..., 0] - self.u) / jnp.sqrt(self.w)
        sums, own = _sums_by_user(e, jnp.log(self.w), self.weight, self.user)
        each = _log_density(sums, Effects(self.correlation, self.log_sd))
        return each * own.rounds / jnp.maximum(sums.rounds, 1.0)
