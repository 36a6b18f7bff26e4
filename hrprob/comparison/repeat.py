"""Play a run again from its manifest, and compare: bit for bit on the same versions and processor."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray

from hrprob._core.errors import InvalidInput, check_number
from hrprob._core.keywords import nearest_keywords
from hrprob._core.trust import trusting
from hrprob._core.types import Decoded
from hrprob.comparison.runs import read
from hrprob.io.config import from_data
from hrprob.io.manifest import MANIFEST, environment
from hrprob.io.unfinished import differences
from hrprob.simulation.engine import simulate

__all__ = ["TOLERANCE", "Repetition", "VariableDifference", "repeat"]

TOLERANCE = 1e-6
"""Largest relative difference of a regret or lifetime that counts as the same on other versions or another processor."""

# All but the time it took.
_VARIABLES = ("regret", "lifetime", "action", "optimal", "best", "mean_best", "mean_lifetime")


class VariableDifference(NamedTuple):
    """How a variable of the repeated run differs from the stored one."""

    entries: int  # how many differ, in any bit
    of: int
    largest: float  # the largest relative difference


class Repetition(NamedTuple):
    """A run that was played again."""

    variables: dict[str, VariableDifference]
    versions: list[str]  # which versions differ from those of the stored run, or its processor, in words
    tolerance: float  # relative; 0 where none differs
    result: xarray.Dataset  # of the repeated run

    @property
    def agrees(self) -> bool:
        """Whether all variables are the same: to the bit, or elsewhere within the tolerance."""
        return all(
            one.entries == 0 if self.tolerance == 0 else one.largest <= self.tolerance
            for one in self.variables.values()
        )

    def to_plain(self) -> dict[str, object]:
        """Return what was compared and what differs, as plain data."""
        found = {name: one._asdict() for name, one in self.variables.items()}
        return {
            "agrees": self.agrees,
            "variables": found,
            "versions": self.versions,
            "tolerance": self.tolerance,
        }

    def in_words(self) -> list[str]:
        """Return what differs, as lines of text."""
        lines = [f"not the same: {words}" for words in self.versions]
        for name, one in self.variables.items():
            if one.entries:
                lines.append(
                    f"{name}: {one.entries} of {one.of} entries differ, relatively by {one.largest:.2g} at most"
                )
        if not any(one.entries for one in self.variables.values()):
            lines.append("the same, to the last bit")
        elif self.tolerance:
            end = "agrees" if self.agrees else "does not agree"
            lines.append(f"{end} within {self.tolerance:g}, the tolerance for other versions and processors")
        return lines


@nearest_keywords
def repeat(
    folder: str | Path, *, trust: bool = False, tolerance: float = TOLERANCE, progress: bool = False
) -> Repetition:
    """Play a run again from its manifest, and compare the two results.

    Parameters
    ----------
    folder : str or Path
        A folder that ``hrprob run`` wrote, or the ``manifest.json`` in it.
    trust : bool
        Whether functions may be imported that the manifest names. Importing runs them.
    tolerance : float
        Largest relative difference of any entry that counts as the same, if versions of hrprob, Python or of
        a library differ from those of the stored run, or the processor. Otherwise every bit must be the same.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Repetition
        What differs, and the repeated result.

    Examples
    --------
    >>> import tempfile, hrprob
    >>> from hrprob.io.run import run_experiment
    >>> from hrprob.io.config import Experiment
    >>> experiment = Experiment(hrprob.Problem(), {"oracle": hrprob.Oracle()}, users=50, trials=2)
    >>> out = Path(tempfile.mkdtemp(), "result")
    >>> _ = run_experiment(experiment, out)  # slow
    >>> repeat(out).agrees
    True
    """
    check_number("tolerance", tolerance, low=0, remedy="it is a relative difference")
    folder = Path(folder).parent if Path(folder).name == MANIFEST else folder
    runs = read(folder)
    facts = runs[0].facts
    if facts.get("job") != "run" or not isinstance(facts.get("configuration"), dict):
        remedy = f"only the result of `hrprob run` can be repeated, from its {MANIFEST}"
        raise InvalidInput("DIR", "must be the result of a run", str(folder), remedy)
    stored = runs[0].data
    with trusting(trust):
        experiment = from_data(facts["configuration"])
    thinning = facts.get("thinning")
    result = simulate(
        experiment.problem,
        experiment.policies,
        users=experiment.users,
        trials=experiment.trials,
        seed=experiment.seed,
        keep=thinning.get("keep", "auto") if isinstance(thinning, dict) else "auto",
        progress=progress,
    )
    changed = _changed(environment(), facts)
    for axis in ("policy", "trial", "user"):
        if not np.array_equal(stored[axis].values, result[axis].values):
            remedy = f"its {MANIFEST} gives another axis `{axis}` than its results.nc has"
            raise InvalidInput("DIR", "must be the result of its manifest", str(folder), remedy)
    variables = {name: _difference(stored[name].values, result[name].values) for name in _VARIABLES}
    return Repetition(variables, changed, tolerance if changed else 0.0, result)


def _changed(now: Mapping[str, Decoded], facts: Mapping[str, Decoded]) -> list[str]:
    """Return which versions differ from those in a manifest, and the processor if it has one."""
    then = facts.get("platform")
    processor = then.get("processor") if isinstance(then, dict) else None
    here = {"processor": now["platform"]["processor"]} if processor is not None else {}
    versions = {name: facts.get("versions", {}).get(name) for name in now["versions"]}
    return differences({**now["versions"], **here}, {**versions, "processor": processor})


def _difference(stored: np.ndarray, repeated: np.ndarray) -> VariableDifference:
    differs = stored != repeated
    before, after = (array[differs].astype(float) for array in (stored, repeated))
    # One that is infinite, the other not, differ by more than any number.
    with np.errstate(invalid="ignore"):
        relative = np.abs(before - after) / np.maximum(np.abs(before), np.abs(after))
    largest = float(np.nan_to_num(relative, nan=np.inf).max(initial=0.0))
    return VariableDifference(int(differs.sum()), differs.size, largest)
