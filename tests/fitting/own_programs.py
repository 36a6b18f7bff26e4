"""Outcome models of one's own, sound and unsound."""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from hrprob.models import Model, priors, register


class DoubleExponential(Model):
    """A model of one's own, in four lines."""

    def outcome(self, u, w):
        return dist.Laplace(u, jnp.sqrt(w / 2))


class OpenT(Model):
    """Student-t outcomes whose degrees of freedom are open, with sites that come before and after φ and θ."""

    def program(self, data, setting, prior):
        theta, phi = priors.sample(prior, setting)
        df = 2.0 + numpyro.sample("df", dist.Gamma(2.0, 0.1))
        numpyro.sample("aside", dist.Dirichlet(jnp.ones(3)))
        numpyro.sample("zest", dist.Normal(3.0, 0.5))
        u, w = setting.moments(theta, phi, data.x)
        with numpyro.plate("row", data.x.shape[0]):
            one = dist.StudentT(df, u[:, None], jnp.sqrt(w * (df - 2.0) / df)[:, None])
            numpyro.sample("r", one.mask(data.weight > 0).to_event(1))


class WithError(Model):
    """A value for each round."""

    def program(self, data, setting, prior):
        theta, phi = priors.sample(prior, setting)
        u, w = setting.moments(theta, phi, data.x)
        with numpyro.plate("row", data.x.shape[0]):
            error = numpyro.sample("error", dist.Normal(0.0, 0.1))
            one = dist.Normal((u + error)[:, None], jnp.sqrt(w)[:, None])
            numpyro.sample("r", one.mask(data.weight > 0).to_event(1))


class Groups(Model):
    """Rounds in groups whose effects may all be nothing: the density grows without bound as their spread goes to 0."""

    def program(self, data, setting, prior):
        theta, phi = priors.sample(prior, setting)
        u, w = setting.moments(theta, phi, data.x)
        spread = numpyro.sample("spread", dist.HalfNormal(1.0))
        with numpyro.plate("group", 8):
            effect = numpyro.sample("effect", dist.Normal(0.0, spread))
        rows = data.x.shape[0]
        with numpyro.plate("row", rows):
            one = dist.Normal((u + effect[jnp.arange(rows) % 8])[:, None], jnp.sqrt(w)[:, None])
            numpyro.sample("r", one.mask(data.weight > 0).to_event(1))


class Nowhere(Model):
    """A program without a density: the variance has lost its offset."""

    def program(self, data, setting, prior):
        theta, phi = priors.sample(prior, setting)
        with numpyro.plate("row", data.x.shape[0]):
            deviation = jnp.sqrt(data.x @ phi - 2.0)
            numpyro.sample("r", dist.Normal((data.x @ theta)[:, None], deviation[:, None]).to_event(1))


class Coin(OpenT):
    """A latent whole number."""

    def program(self, data, setting, prior):
        numpyro.sample("coin", dist.Bernoulli(0.5))
        super().program(data, setting, prior)


class Headless(OpenT):
    """A program without φ."""

    def program(self, data, setting, prior):
        theta = numpyro.sample("theta", prior.theta(setting))
        with numpyro.plate("row", data.x.shape[0]):
            numpyro.sample("r", dist.Normal((data.x @ theta)[:, None], 1.0).to_event(1))


class Program(Model):
    """Normal outcomes, as a program and nothing else."""

    site = "r"

    def program(self, data, setting, prior):
        theta, phi = priors.sample(prior, setting)
        u, w = setting.moments(theta, phi, data.x)
        with numpyro.plate("row", data.x.shape[0]):
            one = dist.Normal(u[:, None], jnp.sqrt(w)[:, None])
            numpyro.sample(self.site, one.mask(data.weight > 0).to_event(1))


class Observed(DoubleExponential):
    """What is observed is normal, whatever `outcome` says."""

    def observe(self, data, u, w):
        one = dist.Normal(u[:, None], jnp.sqrt(w)[:, None])
        numpyro.sample("r", one.mask(data.weight > 0).to_event(1))


class TwoFaced(DoubleExponential):
    """A program that is not what `outcome` says."""

    def program(self, data, setting, prior):
        theta, phi = priors.sample(prior, setting)
        u, w = setting.moments(theta, phi, data.x)
        with numpyro.plate("row", data.x.shape[0]):
            numpyro.sample("r", dist.Normal(u[:, None], jnp.sqrt(w)[:, None]).to_event(1))


class Columns(Program):
    """Sites called as columns of a table are."""

    def program(self, data, setting, prior):
        numpyro.sample("beta", dist.Normal(0.0, 1.0))
        numpyro.sample("user", dist.Normal(jnp.zeros(3), 1.0).to_event(1))
        numpyro.sample("x", dist.Normal(0.0, 1.0))
        super().program(data, setting, prior)


class Axis(Program):
    """A site called as an axis is."""

    def program(self, data, setting, prior):
        numpyro.sample("draw", dist.Normal(0.0, 1.0))
        super().program(data, setting, prior)


class Elsewhere(Program):
    """Outcomes under another name."""

    site = "y"

    def observed(self, data):
        return {"y": data.r}


def own(model, **options):
    # A class of its own each time: a record is made of it, and a kind belongs to one class.
    return register(f"own-{model.__name__}")(
        type(model.__name__, (model,), {"__doc__": model.__doc__}, **options)
    )()
