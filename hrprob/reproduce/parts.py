"""The runs that the figures consist of: one configuration file per part, and the policies of each panel."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from hrprob.io import config
from hrprob.io.config import Experiment

__all__ = ["PANELS", "PARTS", "Part", "experiment_of", "name_of", "parts_of"]

PANELS = ("a", "b", "c", "d", "index")
"""The panels of Figure 2, and the figure of HR-UCB with each ξ."""


class Part(NamedTuple):
    """A run: its configuration file, the setting it belongs to, and its policies by panel."""

    file: str
    setting: str
    panels: dict[str, tuple[str, ...]]
    limits: tuple[str, ...] = ()  # what these policies tend to: played for the claims, not drawn
    name_in_panel: str | None = None  # where it is not the panel's only run of this setting

    def names(self, panels: Iterable[str]) -> list[str]:
        """Return the names under which figures and verdicts look for this run, given the panels wanted."""
        shown = [panel for panel in self.panels if panel in panels]
        return shown if self.name_in_panel is None else [self.name_in_panel] * bool(shown)


# Policies that the paper leaves out.
_GREEDY = ("greedy",)
_GREEDY_THOMPSON = ("greedy", "thompson")

PARTS = {
    "released": Part(
        "released.toml",
        "released",
        {
            "a": ("hr-ucb-k2", "hr-ucb-k3", "hr-ucb-k5", *_GREEDY_THOMPSON),
            "b": ("linucb", "hr-ucb-k5", *_GREEDY),
            "c": ("sigma-max-ucb", "hr-ucb-k5", *_GREEDY),
        },
        limits=("mean-oracle",),
    ),
    "released-b-cmdp": Part(
        "released-b-cmdp.toml", "released", {"b": ("cmdp", "coin-toss")}, name_in_panel="b-cmdp"
    ),
    "released-d": Part(
        "released-d.toml",
        "released",
        {"d": ("hr-ucb-k5", "cmdp", *_GREEDY_THOMPSON)},
        limits=("mean-oracle", "random"),
    ),
    "text": Part(
        "text.toml",
        "text",
        {
            "a": ("hr-ucb-k2", "hr-ucb-k3", "hr-ucb-k5", "hr-ucb-k5-released-width", *_GREEDY),
            "b": (
                "linucb",
                "cmdp",
                "cmdp-with-beta",
                "cmdp-5-cells",
                "hr-ucb-k5",
                "hr-ucb-k5-released-width",
                *_GREEDY,
            ),
            "c": ("sigma-max-ucb", "hr-ucb-k5", "hr-ucb-k5-released-width", *_GREEDY),
        },
        limits=("mean-oracle", "random"),
    ),
    "text-d": Part(
        "text-d.toml",
        "text",
        {"d": ("hr-ucb-k5", "hr-ucb-k5-released-width", "cmdp", "cmdp-with-beta", "cmdp-eager", *_GREEDY)},
        limits=("mean-oracle", "random"),
    ),
    "index": Part(
        "index.toml",
        "index",
        {
            "index": (
                "paper",
                "corrected",
                "computed-constants",
                "likelihood-ratio",
                "released",
                "calibrated",
                *_GREEDY_THOMPSON,
                "random",
            )
        },
    ),
}


_NAMES = {
    "hr-ucb-k2": "HR-UCB (K = 2)",
    "hr-ucb-k3": "HR-UCB (K = 3)",
    "hr-ucb-k5": "HR-UCB (K = 5)",
    "hr-ucb-k5-released-width": "HR-UCB (K = 5, released ξ)",
    "linucb": "LinUCB",
    "sigma-max-ucb": "σ_max-UCB",
    "cmdp": "CMDP",
    "cmdp-with-beta": "CMDP with β",
    "cmdp-5-cells": "CMDP (5 cells)",
    "cmdp-eager": "CMDP (eager)",
    "thompson": "Thompson sampling",
}


def name_of(policy: str) -> str:
    """Return a policy's name as words have it, where files have its key.

    Examples
    --------
    >>> name_of("hr-ucb-k5"), name_of("greedy")
    ('HR-UCB (K = 5)', 'greedy')
    """
    return _NAMES.get(policy, policy)


def parts_of(panels: Iterable[str]) -> dict[str, list[str]]:
    """Return the parts that these panels need, each with its policies.

    Examples
    --------
    >>> parts_of(["d"])["released-d"]
    ['hr-ucb-k5', 'cmdp', 'greedy', 'thompson', 'mean-oracle', 'random']
    """
    wanted = list(panels)
    needed: dict[str, list[str]] = {}
    for name, part in PARTS.items():
        policies = [policy for panel in wanted for policy in part.panels.get(panel, ())]
        if policies:
            needed[name] = list(dict.fromkeys([*policies, *part.limits]))
    return needed


def experiment_of(part: str, policies: Iterable[str]) -> Experiment:
    """Return the experiment of a part, with only these of its policies."""
    with resources.as_file(resources.files("hrprob.experiments")) as folder:
        experiment = config.read(Path(folder) / "reproduce" / PARTS[part].file)
    return experiment.replace(policies={name: experiment.policies[name] for name in policies})
