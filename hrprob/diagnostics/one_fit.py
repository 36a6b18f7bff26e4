"""The posterior of one data set as a job, which may be computed elsewhere and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from hrprob.estimation.posterior.base import Engine
from hrprob.estimation.posterior.target import Target
from hrprob.fitting.fit import fit
from hrprob.fitting.posterior import Posterior
from hrprob.fitting.table import Table
from hrprob.simulation.checkpoints import ChunkStore

__all__ = ["OneFitJob"]

_SITE, _STATISTIC = "site ", "statistic "


class OneFitJob(NamedTuple):
    """An engine that is fitted to one table of rounds."""

    table: Table
    engine: Engine
    target: Target  # model, prior and setting
    seed: int

    @property
    def size(self) -> int:
        """How many tables it is fitted to."""
        return 1

    def play(
        self,
        *,
        workers: int | None = None,
        report: Callable[[int], None] = lambda fits: None,
        store: ChunkStore | None = None,
    ) -> Posterior:
        """Fit it in this thread."""
        setting = self.target.setting
        posterior = fit(
            self.table,
            self.engine,
            model=self.target.model,
            prior=self.target.prior,
            seed=self.seed,
            link=setting.link,
            bounds=setting.bounds,
        )
        report(1)
        return posterior

    def pack(self, result: Posterior) -> dict[str, np.ndarray]:
        """Return the draws and their statistics as arrays by name."""
        arrays = {"theta": result.theta, "phi": result.phi, "log_ratio": result.log_ratio}
        arrays |= {_SITE + name: np.asarray(draws) for name, draws in result.sites.items()}
        return arrays | {_STATISTIC + name: np.asarray(values) for name, values in result.statistics.items()}

    def unpack(self, arrays: Mapping[str, np.ndarray]) -> Posterior:
        """Return the posterior with these draws."""
        return Posterior(
            theta=arrays["theta"],
            phi=arrays["phi"],
            sites=_named(arrays, _SITE),
            statistics=_named(arrays, _STATISTIC),
            log_ratio=arrays["log_ratio"],
            table=self.table,
            target=self.target,
            engine=self.engine,
            seed=self.seed,
        )


def _named(arrays: Mapping[str, np.ndarray], sort: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(sort): values for name, values in arrays.items() if name.startswith(sort)}
