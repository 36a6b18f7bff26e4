"""``hrprob policies``: which policies there are, and their parameters."""

import json
import sys

import xarray

import hrprob
from tests.cli.example import FEW, SMALL

# A third-party policy with a parameter that has no default.
THIRD_PARTY = '''
from typing import Any
import hrprob
import jax.numpy as jnp

@hrprob.register("always")
class Always(hrprob.Policy):
    """Serve the same action to everybody."""

    action: Any

    def init(self):
        return ()

    def select(self, state, key, contexts, beta):
        return jnp.asarray(self.action, int)

    def update(self, state, seen):
        return state
'''


def test_a_third_party_policy(call, small, tmp_path):
    (tmp_path / "somebodys.py").write_text(THIRD_PARTY)
    imported = ["--import", "somebodys"]
    try:
        status, out, _ = call("policies", *imported)
        assert status == 0
        assert "always\n    Serve the same action to everybody.\n" in out
        assert "    action (required)\n" in out

        small.write_text(SMALL + '[[policy]]\nkind = "always"\n', encoding="utf-8")
        status, _, err = call("run", small, "--out", "r", *imported)
        assert status == 2
        assert '`policy "always".action` must be given, got nothing' in err

        small.write_text(SMALL + '[[policy]]\nkind = "always"\naction = 2\n', encoding="utf-8")
        status, _, _ = call("run", small, "--out", "r", *FEW, *imported)
        assert status == 0
        with xarray.open_dataset(tmp_path / "r" / "results.nc") as dataset:
            assert (dataset.action.sel(policy="always") == 2).all()
    finally:
        sys.modules.pop("somebodys", None)

        hrprob.policies.POLICIES._classes.pop("always", None)


def test_policies_are_described_in_words_and_in_json(call):
    status, out, _ = call("policies")
    assert status == 0
    assert 'radius = "released"' in out
    assert "growth (optional)" in out
    status, out, _ = call("policies", "--json")
    assert status == 0
    entries = {entry["kind"]: entry for entry in json.loads(out)}
    assert set(entries) >= {"hr-ucb", "linucb", "sigma-max-ucb", "greedy", "random", "oracle"}
    parameters = {entry["name"]: entry for entry in entries["hr-ucb"]["parameters"]}
    assert parameters["delta"] == {
        "name": "delta",
        "type": "float",
        "required": False,
        "default": 0.1,
        "meaning": "δ, the probability that a confidence set misses the truth.",
    }


def test_one_policy_is_described_in_full(call):
    status, out, _ = call("policies", "hr-ucb")
    assert status == 0
    assert out.startswith("hr-ucb (HRUCB in Python)\n")
    assert "\n    delta : float, default 0.1\n        δ, the probability" in out
    # Inherited: documented at the base of all policies on the GLSE.
    assert "\n    ridge : float, default 1.0\n        λ, above 0.\n" in out
    assert "Stay With Me" in out
    status, _, err = call("policies", "hr-ucp")
    assert status == 2
    assert "did you mean `hr-ucb`?" in err
