"""How fast the engine is, compared with a plain C loop that does the same job on the same machine.

    python benchmarks/speed.py

The job is HR-UCB in the released settings, 20 trials of 30000 users. Seconds are CPU seconds, all
threads of the process together; compilation is left out by a first run. The C loop and the engine
take turns, and the least of several runs counts: other work on the machine can only add. XLA is
set as the command line sets it, unless it is set already.

Thompson sampling plays the same job as HR-UCB, with one worker; its regret is checked too, so that
the long runs are made once.
"""

from __future__ import annotations

import json
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from hrprob.cli import XLA_FLAGS

os.environ.setdefault("XLA_FLAGS", XLA_FLAGS)
HERE = Path(__file__).parent
ROOT = HERE.parent
USERS, TRIALS, LAST = 30000, 20, 29001
VARIANCE_MAX = 2 + math.sqrt(0.5**2 + 0.2**2 + 0.8**2 + 0.9**2)


def has_compiler() -> bool:
    return shutil.which("cc") is not None


def compile_loop(folder: str) -> Path:
    """Compile loop.c and return the program."""
    program = Path(folder) / "loop"
    command = ["cc", "-O3", "-march=native", "-o", str(program), str(HERE / "loop.c"), "-lm"]
    subprocess.run(command, check=True)
    return program


def c_seconds(program: Path, seed: int) -> float:
    """Return the CPU seconds of the C loop."""
    command = [str(program), str(USERS), str(TRIALS), str(seed)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(json.loads(printed)["cpu_seconds"])


def hr_ucb(**changes: Any) -> Any:
    import hrprob

    return hrprob.HRUCB(growth=5, radius="released", variance_max=VARIANCE_MAX, warmup=5, **changes)


def policies() -> dict[str, Any]:
    import hrprob

    return {
        "hr-ucb": hr_ucb(),
        "hr-ucb eager": hr_ucb(eager=True),
        "hr-ucb paper": hrprob.HRUCB(radius="paper"),
        "greedy": hrprob.Greedy(warmup=5),
        "linucb": hrprob.LinUCB(ridge=0, warmup=5),
        "sigma-max-ucb": hrprob.SigmaMaxUCB(divide_by="variance", variance_max=VARIANCE_MAX, warmup=5),
        "random": hrprob.Random(),
        "oracle": hrprob.Oracle(),
    }


def engine_seconds(
    policy: Any, *, users: int = USERS, trials: int = TRIALS, runs: int = 3, between: Callable[[], None] = int
) -> float:
    """Return the least CPU seconds of some runs, after a first one that compiles."""
    import hrprob

    def run(seed: int) -> float:
        start = time.process_time()
        hrprob.simulate(hrprob.Problem(), {"it": policy}, users=users, trials=trials, seed=seed, keep=1000)
        return time.process_time() - start

    run(0)
    seconds = []
    for seed in range(runs):
        between()
        seconds.append(run(seed))
    return min(seconds)


class Played(NamedTuple):
    """What a policy costs: time and regret."""

    seconds: float  # CPU, of the second of two runs
    regret: Any  # (trials,) at user 29001


def thompson() -> dict[str, Any]:
    import hrprob

    return {
        "hr-ucb": hr_ucb(),
        "laplace": hrprob.Thompson(engine="laplace"),
        "smc": hrprob.Thompson(engine="smc"),
    }


def play(policy: Any) -> Played:
    """Play 20 trials of 30000 users twice with one worker: the first run compiles, the second counts."""
    import hrprob

    for _ in range(2):
        start = time.process_time()
        result = hrprob.simulate(
            hrprob.Problem(), {"it": policy}, users=USERS, trials=TRIALS, seed=0, keep=1000, workers=1
        )
        seconds = time.process_time() - start
    return Played(seconds, result.regret.sel(policy="it", user=LAST).values)


def table_of(played: dict[str, Played]) -> str:
    """Return CPU seconds, their ratio to HR-UCB, and the regret, one line per policy."""
    lines = ["policy          CPU s    ratio   regret at user 29001"]
    for name, one in played.items():
        error = one.regret.std(ddof=1) / math.sqrt(len(one.regret))
        ratio = one.seconds / played["hr-ucb"].seconds
        lines.append(f"{name:12s} {one.seconds:8.2f} {ratio:8.2f}   {one.regret.mean():.0f} ± {error:.0f}")
    return "\n".join(lines)


def against_c(runs: int = 5) -> tuple[float, float]:
    """Return the CPU seconds of the C loop and of the engine, run in turns."""
    with tempfile.TemporaryDirectory() as folder:
        program = compile_loop(folder)
        loops: list[float] = []
        engine = engine_seconds(
            hr_ucb(), runs=runs, between=lambda: loops.append(c_seconds(program, len(loops)))
        )
        return min(loops), engine


def by_trials(counts: tuple[int, ...] = (20, 100, 400), users: int = USERS) -> dict[int, float]:
    """Return CPU seconds per trial."""
    return {
        trials: engine_seconds(hr_ucb(), users=users, trials=trials, runs=2) / trials for trials in counts
    }


def by_users(counts: tuple[int, ...] = (10000, 30000, 90000)) -> dict[int, float]:
    """Return CPU seconds per thousand users."""
    return {users: engine_seconds(hr_ucb(), users=users, runs=2) / users * 1000 for users in counts}


def peak_memory(trials: int = 400, users: int = USERS) -> float:
    """Return the peak resident memory in MB of a process that runs many trials."""
    command = [sys.executable, __file__, "memory", str(trials), str(users)]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    printed = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    ).stdout
    return float(printed)


def _print_own_peak(trials: int, users: int) -> None:
    import hrprob

    hrprob.simulate(hrprob.Problem(), hr_ucb(), users=users, trials=trials, keep=1000)
    print(_own_peak())


def _own_peak() -> float:
    status = Path("/proc/self/status")
    if status.exists():
        # getrusage would not do: a process inherits the peak of the one that started it.
        return next(float(line.split()[1]) for line in status.open() if line.startswith("VmHWM")) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # bytes on macOS


def main() -> None:
    if has_compiler():
        loop, engine = against_c()
        print(f"C loop          {loop:8.3f} s")
        print(f"hrprob          {engine:8.3f} s")
        print(f"ratio           {engine / loop:8.2f}")
    else:
        print("no C compiler: no ratio")
    print("\nCPU seconds per trial")
    for trials, seconds in by_trials().items():
        print(f"{trials:8d} trials {seconds:8.4f}")
    print("\nCPU seconds per thousand users (20 trials)")
    for users, seconds in by_users().items():
        print(f"{users:8d} users  {seconds:8.4f}")
    print(f"\npeak memory, 400 trials, keep=1000: {peak_memory():.0f} MB")
    print("\nCPU seconds of each policy, and its ratio to HR-UCB")
    seconds = {name: engine_seconds(policy, runs=2) for name, policy in policies().items()}
    for name, spent in seconds.items():
        print(f"{name:15s} {spent:8.3f} {spent / seconds['hr-ucb']:8.2f}")
    print("\nThompson sampling, with one worker")
    print(table_of({name: play(policy) for name, policy in thompson().items()}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["memory"]:
        _print_own_peak(int(sys.argv[2]), int(sys.argv[3]))
    else:
        sys.path.insert(0, str(ROOT))
        main()
