"""A diagnostic of one's own: how often the estimate of φ lies at the bound."""

from typing import NamedTuple

import numpy as np
import xarray
from matplotlib.figure import Figure

from hrprob.diagnostics import Diagnostic, ReportFigure, Verdict, glse_by_data_set, register


class AtBound(NamedTuple):
    norm: np.ndarray  # ‖φ̂‖ over the bound, by data set
    share: float


@register("phi-at-bound")
class PhiAtBound(Diagnostic[AtBound]):
    """Share of data sets whose ‖φ̂‖ is within 1 % of the bound, or beyond."""

    title = "Estimates at the bound"
    needs = ("at_truth",)

    def compute(self, inputs):
        problem, data = inputs.study.problem, inputs.at_truth.data
        norm = np.linalg.norm(glse_by_data_set(data.stays, problem.link).phi, axis=1) / problem.bounds.phi
        return AtBound(norm, float(np.mean(norm >= 0.99)))

    def verdicts(self, result):
        return [Verdict(result.share < 0.05, f"‖φ̂‖ is at the bound in {result.share:.0%} of the data sets")]

    def figures(self, result):
        (figure := Figure(figsize=(3, 2))).subplots().hist(result.norm)
        return [ReportFigure("phi-at-bound", "‖φ̂‖ over the bound.", lambda: figure)]

    def to_plain(self, result):
        return {"phi_at_bound": result.share}

    def to_datasets(self, result):
        return {"phi_at_bound": xarray.Dataset({"norm": ("data_set", result.norm)})}
