"""Which runs the figures are made of: one configuration file a part, and who appears in which panel."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from hrprob.io import config
from hrprob.io.config import Experiment

__all__ = ["PANELS", "PARTS", "Part", "experiment_of", "parts_of"]

PANELS = ("a", "b", "c", "d", "index")
"""The panels of Figure 2, and what the printed index does."""


class Part(NamedTuple):
    """A run: the file it is configured in, the setting it belongs to, and its policies by panel."""

    file: str
    setting: str
    panels: dict[str, tuple[str, ...]]


# What the paper leaves out.
_BESIDE = ("greedy",)
_BOTH_BESIDE = ("greedy", "thompson")

PARTS = {
    "released": Part(
        "released.toml",
        "released",
        {
            "a": ("hr-ucb-k2", "hr-ucb-k3", "hr-ucb-k5", *_BOTH_BESIDE),
            "b": ("linucb", "hr-ucb-k5", *_BESIDE),
            "c": ("sigma-max-ucb", "hr-ucb-k5", *_BESIDE),
        },
    ),
    "released-b-cmdp": Part("released-b-cmdp.toml", "released", {"b": ("cmdp", "coin-toss")}),
    "released-d": Part("released-d.toml", "released", {"d": ("hr-ucb-k5", "cmdp", *_BOTH_BESIDE)}),
    "text": Part(
        "text.toml",
        "text",
        {
            "a": ("hr-ucb-k2", "hr-ucb-k3", "hr-ucb-k5", "hr-ucb-k5-released-width", *_BESIDE),
            "b": ("linucb", "cmdp", "cmdp-with-beta", "hr-ucb-k5", "hr-ucb-k5-released-width", *_BESIDE),
            "c": ("sigma-max-ucb", "hr-ucb-k5", "hr-ucb-k5-released-width", *_BESIDE),
        },
    ),
    "text-d": Part(
        "text-d.toml",
        "text",
        {"d": ("hr-ucb-k5", "hr-ucb-k5-released-width", "cmdp", "cmdp-with-beta", *_BESIDE)},
    ),
    "index": Part(
        "index.toml",
        "index",
        {"index": ("paper", "corrected", "computed-constants", "released", "greedy", "random")},
    ),
}


def parts_of(panels: Iterable[str]) -> dict[str, list[str]]:
    """Return the parts that these panels need, each with its policies.

    Examples
    --------
    >>> parts_of(["d"])["released-d"]
    ['hr-ucb-k5', 'cmdp', 'greedy', 'thompson']
    """
    wanted = list(panels)
    needed: dict[str, list[str]] = {}
    for name, part in PARTS.items():
        policies = [policy for panel in wanted for policy in part.panels.get(panel, ())]
        if policies:
            needed[name] = list(dict.fromkeys(policies))
    return needed


def experiment_of(part: str, policies: Iterable[str]) -> Experiment:
    """Return the experiment of a part, with these of its policies only."""
    with resources.as_file(resources.files("hrprob.experiments")) as folder:
        experiment = config.read(Path(folder) / "reproduce" / PARTS[part].file)
    return experiment.replace(policies={name: experiment.policies[name] for name in policies})
