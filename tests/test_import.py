"""What is loaded, and what is not, by the names that a user begins with."""

import json
import subprocess
import sys

import pytest

# One after the other in one process: what is loaded stays loaded, so that the first to load too much is to blame.
START = {
    "hrprob": "import hrprob",
    "noise": "import hrprob.noise",
    "problem": "import hrprob; hrprob.Problem",
    "policy": "import hrprob; hrprob.HRUCB()",
    "stays": "from hrprob.observations import stays; assert stays([[1.0]], [0.5]).rounds.tolist() == [1.0]",
    "policies": "import hrprob.policies.hr_ucb, hrprob.policies.thompson, hrprob.fitting.table",
    "simulate": "import hrprob; hrprob.simulate",
    "described": "import hrprob; from hrprob._core.records import describe; describe(hrprob.Problem())",
    "engine": "import hrprob.simulation.engine",
    "run": "import hrprob; hrprob.simulate(hrprob.Problem(), hrprob.Random(), users=2, trials=1)",
    "run of HR-UCB": "import hrprob; hrprob.simulate(hrprob.Problem(), hrprob.HRUCB(), users=2, trials=1)",
}


@pytest.fixture(scope="module")
def loaded() -> dict[str, list[str]]:
    """What of NumPyro and Matplotlib is loaded after each start; NumPyro alone takes more than a second."""
    heavy = "sorted({'numpyro', 'matplotlib', 'arviz_base'} & set(sys.modules))"
    lines = [f"{code}\nfound[{name!r}] = {heavy}" for name, code in START.items()]
    program = "\n".join(["import json, sys", "found = {}", *lines, "print(json.dumps(found))"])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("start", START)
def test_numpyro_and_matplotlib_are_not_loaded(start: str, loaded: dict[str, list[str]]) -> None:
    assert loaded[start] == []


def test_a_run_begins_without_what_writes_its_results() -> None:
    """These are loaded while the programs are compiled, or not at all."""
    code = (
        "import sys, hrprob.io.run\n"
        "from hrprob.policies import HRUCB\n"
        "HRUCB().bind(__import__('hrprob').Problem(), 100)\n"
        "late = {'numpyro', 'matplotlib', 'arviz_base', 'xarray', 'pandas', 'scipy.special'}\n"
        "print(*(late & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""


def test_a_noise_from_a_distribution_describes_itself() -> None:
    """Without NumPyro imported by hrprob."""
    code = (
        "import numpyro.distributions as dist\n"
        "from hrprob.noise import FromDistribution\n"
        "from hrprob._core.records import describe\n"
        "noise = describe(FromDistribution(dist.Laplace(0.0, 0.5**0.5)))\n"
        "print(noise['kind'], noise['distribution']['kind'], noise['distribution']['loc'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["distribution", "Laplace", "0.0"], done.stderr
