r"""The base class of outcome models: θ, φ, and the location-scale form.

.. math:: r = \theta^\top x + \sqrt{f(\phi^\top x)}\,e, \qquad \mathbb{E}\,e = 0,\ \mathbb{V}\,e = 1

A model defines the distribution of one outcome of mean u and variance w; its program and its
likelihood follow from that, and every engine can fit it. A complete model, in a file of its own::

    import jax.numpy as jnp
    import numpyro.distributions as dist
    from hrprob.models import Model, register

    @register("laplace-noise")
    class LaplaceNoise(Model):
        \"\"\"Outcomes with the double exponential distribution.\"\"\"

        def outcome(self, u, w):
            return dist.Laplace(u, jnp.sqrt(w / 2))

A policy computes the probability of reneging under ``noise``, by default the distribution of the outcome at
u = 0 and w = 1; a model may have one of :mod:`hrprob.noise` instead, which are accurate further into the tail.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import ClassVar, Self, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob._core.registry import Registry
from hrprob.models import priors
from hrprob.models.claims import defining, keeps_claim
from hrprob.models.setting import Setting
from hrprob.noise import FromDistribution, Noise
from hrprob.observations import Data, Rounds

__all__ = ["MODELS", "Model", "make_model", "model_for_noise", "normal_given_phi", "register"]

M = TypeVar("M", bound=type)


class Model:
    """An outcome model of the location-scale form; subclasses are made with :func:`register`."""

    kind: ClassVar[str]
    data: ClassVar[type] = Rounds
    """The data that it is conditioned on: Rounds, or Stays where the sums over a stay suffice."""
    noise_kind: ClassVar[str] = ""
    """The kind of :mod:`hrprob.noise` that it has; by default the kind of the model itself."""
    has_edge: ClassVar[bool] = False
    """Whether the likelihood falls steeply at an edge that moves with θ and φ, where normal approximations fail."""
    columns: ClassVar[tuple[str, ...]] = ()
    """Columns of the table that its program uses beside contexts and outcomes: ``user``, ``beta``, and any others."""
    has_normal_rounds: ClassVar[bool] = False
    """Whether single rounds are normal, so that θ given φ can be integrated out; see :func:`normal_given_phi`."""

    @classmethod
    def for_noise(cls, noise: Noise) -> Self:
        """Return the model of this class with the parameters of a noise of its ``noise_kind``."""
        names = [field.name for field in dataclasses.fields(cls) if field.init]  # type: ignore[arg-type]
        return cls(**{name: getattr(noise, name) for name in names if hasattr(noise, name)})

    @property
    def further_columns(self) -> tuple[str, ...]:
        """The names among ``columns`` beyond ``user`` and ``beta``."""
        return tuple(name for name in self.columns if name not in ("user", "beta"))

    def outcome(self, u: jax.Array, w: jax.Array) -> dist.Distribution:
        """Return the distribution of one outcome of mean ``u`` and variance ``w``."""
        must = "must define the distribution of one outcome"
        remedy = "write `outcome(self, u, w)`: a program alone is enough for nuts and svi, not for other engines or policies"
        raise InvalidInput("model", must, type(self).__name__, remedy)

    @property
    def noise(self) -> Noise:
        """The standardised noise e, under which h is computed."""
        with double_precision():
            return FromDistribution(self.outcome(jnp.zeros(()), jnp.ones(())))

    def program(self, data: Data, setting: Setting, prior: priors.Prior) -> None:
        """Run the model as a NumPyro program, which samples θ, φ and the outcomes of ``data``'s rows.

        :meth:`conditioned` is the same program conditioned on the outcomes.
        """
        theta, phi = priors.sample(prior, setting)
        u, w = setting.moments(theta, phi, data.x)
        with numpyro.plate("row", data.x.shape[0]):
            self.observe(data, u, w)

    def observe(self, data: Data, u: jax.Array, w: jax.Array) -> None:
        """Sample the outcomes of rows with means ``u`` and variances ``w`` (both (n,))."""
        assert isinstance(data, Rounds)
        one = self.outcome(u[:, None], w[:, None])
        numpyro.sample("r", one.mask(data.weight > 0).to_event(1))

    def observed(self, data: Data) -> dict[str, jax.Array]:
        """Return the observed values that :meth:`program` is conditioned on, by site."""
        assert isinstance(data, Rounds)
        return {"r": data.r}

    def conditioned(self, data: Data, setting: Setting, prior: priors.Prior) -> None:
        """Run the program conditioned on ``data``: the posterior of θ and φ."""
        numpyro.handlers.condition(self.program, self.observed(data))(data, setting, prior)

    def row_log_likelihood(self, data: Data, u: jax.Array, w: jax.Array) -> jax.Array:
        """Return the log likelihood of each row (n,), a function of its mean and variance alone."""
        assert isinstance(data, Rounds)
        each = self.outcome(u[..., None], w[..., None]).log_prob(data.r)
        return jnp.sum(jnp.where(data.weight > 0, each, 0.0), axis=-1)

    def log_likelihood(self, theta: jax.Array, phi: jax.Array, data: Data, setting: Setting) -> jax.Array:
        """Return the log likelihood of each row (n,) at θ and φ (d,)."""
        return self.row_log_likelihood(data, *setting.moments(theta, phi, data.x))


MODELS: Registry[Model] = Registry(
    "models",
    field="model",
    package="hrprob.models",
    requires=("program", "conditioned", "row_log_likelihood"),
)
"""All outcome models."""


@dataclass_transform(frozen_default=True)
def register(kind: str, *, static: tuple[str, ...] = ()) -> Callable[[M], M]:
    """Make a class a model that can be named ``kind``.

    Examples
    --------
    >>> "student-t" in MODELS.kinds()
    True
    """

    def decorate(cls: M) -> M:
        _check_outcome_is_used(cls)
        return MODELS.register(kind, static=static)(cls)

    return decorate


def _check_outcome_is_used(cls: type) -> None:
    """Raise if a class changes `outcome` but inherits a likelihood that does not look at it."""
    for name in ("observe", "row_log_likelihood"):
        by = defining(cls, name)
        outcome = defining(cls, "outcome")
        if by not in (None, Model) and outcome is not by and outcome is not None and issubclass(outcome, by):
            must = f"must override `{name}` with `outcome`"
            remedy = f"{by.__name__} has its own, which does not use `outcome`; inherit from Model instead"
            raise InvalidInput("model", must, cls.__name__, remedy)


def normal_given_phi(model: Model) -> bool:
    """Say whether θ given φ is normal before its truncation: the model says so and has not changed its likelihood.

    Examples
    --------
    >>> normal_given_phi(make_model("gaussian")), normal_given_phi(make_model("student-t"))
    (True, False)
    """
    claimed = keeps_claim(type(model), "has_normal_rounds", ("row_log_likelihood",))
    return model.has_normal_rounds and claimed


def model_for_noise(noise: Noise) -> Model:
    """Return the outcome model whose noise this is.

    Examples
    --------
    >>> from hrprob.noise import StudentT
    >>> model_for_noise(StudentT(df=7.0)).df
    7.0
    """
    for kind, cls in MODELS.kinds().items():
        if (cls.noise_kind or kind) == noise.kind:
            return cls.for_noise(noise)
    remedy = f"no outcome model has the problem's noise; choose one of {', '.join(MODELS)}"
    raise InvalidInput("model", "must be given", None, remedy)


def make_model(model: object) -> Model:
    """Return a model: itself, by its kind, or from a table with its kind and parameters.

    Examples
    --------
    >>> make_model({"kind": "student-t", "df": 6.0}).df
    6.0
    """
    return MODELS.make(model)
