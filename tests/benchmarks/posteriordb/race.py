"""The race: our models of posteriordb beside Stan's programs, run by stanli, and PyMC and NumPyro.

``make race POSTERIORDB=/path`` measures all, ``MODELS=arK,dogs`` some. README.md says what.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.posteriordb import beside, posteriors, stan
from tests.benchmarks.posteriordb.calls import (
    ROUNDS,
    circumstances,
    enough,
    our_call,
    seconds,
    stan_call,
)
from tests.benchmarks.run import environment

OUT = Path("race")
DRAWS, CHAINS, SEEDS = 1000, 2, 3
# first gradients of which the lesser counts: what else the machine does makes them longer
FIRSTS = 2
# Samplers are compared on these: small enough to be sampled in seconds, of many kinds
SAMPLED = (
    "eight_schools_noncentered", "arK", "arma11", "garch11", "hmm_example", "hmm_gaussian",
    "low_dim_gauss_mix", "lotka_volterra", "one_comp_mm_elim_abs", "sir", "GLMM_Poisson_model",
    "M0_model", "Mtbh_model", "kidscore_interaction", "radon_hierarchical_intercept_noncentered",
    "dogs_hierarchical", "gp_regr", "irt_2pl", "logmesquite", "surgical_model",
)  # fmt: skip


# -- one posterior, in a process of its own --------------------------------------------------------


def first_gradient(name: str, who: str, copy: Path) -> dict[str, float]:
    """Seconds from the text of a model to its first gradient, the libraries themselves imported."""
    x = posteriors.stored(name).points[0]
    data = posteriors.read_data(name, str(copy))
    text, json_data = stan.program(copy, name).read_text(), json.dumps(data)
    module = posteriors.load_model(name.split("-", 1)[1])
    if who == "stanli":
        import bridgestan
        import stanli

        assert bridgestan
        started = time.process_time()
        stanli.bridgestan_model(stan_code=text, data=json_data).log_density_gradient(x)
    else:
        started = time.process_time()
        fit = module.model(data)
        density = fit.log_density() if hasattr(fit, "log_density") else fit
        density.logp_and_grad(np.zeros(density.size))
    return {"s": time.process_time() - started}


def gradients(name: str, copy: Path) -> dict[str, Any]:
    """Times of value and gradient, in turns, after both are found to agree."""
    known = posteriors.stored(name)
    built = posteriors.build(name, folder=str(copy))
    exact = hasattr(posteriors.load_model(name.split("-", 1)[1]), "EXACT")
    errors = posteriors.compare(built, known)
    order = posteriors.order_of(built, known)
    calls = {
        "ours": our_call(built.density, known.points[:, order]),
        "stanli": stan_call(stan.bridge(copy, name), known.points),
    }
    numbers = {who: enough(call) for who, call in calls.items()}
    times: dict[str, list[float]] = {who: [] for who in calls}
    for _ in range(ROUNDS):
        for who, call in calls.items():
            times[who].append(seconds(call, numbers[who]))
    ratio = statistics.median(a / b for a, b in zip(times["ours"], times["stanli"], strict=True))
    found = {f"{who}_us": statistics.median(values) * 1e6 for who, values in times.items()}
    agree = max(errors) <= (1e-2 if exact else built.tolerance)
    return {"dim": built.density.size, **found, "ratio": ratio, "error": max(errors)} | (
        {} if agree else {"failed": f"differs from Stan by {max(errors):.1e}"}
    )


def effective(name: str, copy: Path) -> dict[str, float]:
    """Effective draws of the parameter with the fewest, per second of processor for sampling.

    Both have drawn a little before, so that nothing is imported or compiled while the clock runs.
    """
    import arviz
    import stanli

    built = posteriors.build(name, folder=str(copy))
    data = json.dumps(posteriors.read_data(name, str(copy)))
    model = stanli.Model(stan_file=str(stan.program(copy, name)), data=data)

    def ours(draws: int, seed: int) -> Any:
        options = {"tune": draws, "chains": CHAINS, "cores": 1, "seed": seed}
        return built.fit.sample(draws, **options, progress_bar=False, report=False)

    def stans(draws: int, seed: int) -> Any:
        options = {"warmup": draws, "chains": CHAINS, "parallel_chains": 1, "seed": seed}
        return model.sample(samples=draws, **options, refresh=0)

    def our_least(draws: Any) -> float:
        sizes = arviz.ess(draws["posterior"].to_dataset())
        return min(float(sizes[p.name].min()) for p in built.density.parameters)

    def stans_least(fit: Any) -> float:
        arrays = {name: fit.draws(name) for name in posteriors.stored(name).at_probe}
        return min(float(np.min(arviz.ess(x))) for x in _numbers(arrays))

    found: dict[str, list[float]] = {}
    for sample in (ours, stans):
        sample(20, 0)
    for seed in range(1, SEEDS + 1):
        for who, sample, least in (("ours", ours, our_least), ("stanli", stans, stans_least)):
            started = time.process_time()
            drawn = sample(DRAWS, seed)
            passed, size = time.process_time() - started, least(drawn)
            for what, value in (("ess_s", size / passed), ("ess", size), ("draws_s", passed)):
                found.setdefault(f"{who}_{what}", []).append(value)
    return {key: statistics.median(values) for key, values in found.items()} | {"runs": SEEDS}


def _numbers(arrays: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Each element of parameters, as chains and draws; those that do not vary are left out."""
    flat = [x.reshape(*x.shape[:2], -1) for x in arrays.values()]
    return [x[..., i] for x in flat for i in range(x.shape[-1]) if np.ptp(x[..., i]) > 0]


TASKS = {"gradients": gradients, "effective": effective}


def in_process(task: str, name: str, copy: Path, caches: str, who: str = "") -> dict[str, Any]:
    """A task in a new process with caches in a folder; its failure is a line of the table."""
    command = [sys.executable, "-m", __spec__.name, "--task", task, name, str(copy), who]
    done = subprocess.run(
        command, env=environment(caches), text=True, capture_output=True, timeout=600
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return {"failed": f"{task}: {reason[:200]}"}
    return json.loads(lines[-1])


def first_gradients(name: str, copy: Path, caches: str) -> dict[str, Any]:
    """Seconds of first gradients with caches that are empty, and with what these leave."""
    seconds: dict[str, Any] = {}
    for who in ("ours", "stanli"):
        for state in ("cold", "warm"):
            found = in_process("first", name, copy, caches, who)
            if "failed" in found:
                return found
            seconds[f"{who}_{state}_s"] = found["s"]
    return seconds


def measure(name: str, copy: Path, parts: Collection[str]) -> dict[str, Any]:
    """A line of the table, or some parts of it."""
    line: dict[str, Any] = {"posterior": name}
    task = "failed"  # where it is noted
    model = name.split("-", 1)[1]
    if "peers" in parts and model in beside.peer_names():
        line["peers"] = beside.measure(name, copy)
    with tempfile.TemporaryDirectory() as caches:
        try:
            for turn in range(FIRSTS) if "first" in parts else ():
                found = first_gradients(name, copy, f"{caches}/{turn}")
                if "failed" in found:
                    return line | found
                line |= {key: min(s, line.get(key, s)) for key, s in found.items()}
            if "gradients" in parts:
                line |= in_process("gradients", name, copy, caches)
            if "effective" in parts and model in SAMPLED and "failed" not in line:
                task = "sampling"
                found = in_process("effective", name, copy, caches)
                line |= {key.replace("failed", task): x for key, x in found.items()}
        except subprocess.TimeoutExpired:
            line[task] = "took more than 600 s"
    return line


def quick(name: str, copy: Path) -> dict[str, Any]:
    """Times of value and gradient alone, in this process."""
    try:
        return {"posterior": name} | gradients(name, copy)
    except Exception as error:
        text = str(error).splitlines() or [""]
        return {"posterior": name, "failed": f"{type(error).__name__}: {text[0][:200]}"}


# -- the table -------------------------------------------------------------------------------------


def machine() -> dict[str, str]:
    model = ""
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), "")
    packages = ("numpy", "numba", "pytensor", "stanli", "bridgestan", "pymc", "numpyro", "jax")
    return {
        "processor": f"{model or platform.processor()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": ", ".join(f"{name} {version(name)}" for name in packages),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posteriordb", help="a copy of posteriordb")
    parser.add_argument("--models", default="", help="models or posteriors, with commas")
    parser.add_argument("--out", default=OUT, type=Path, help="folder of table and picture")
    parser.add_argument("--quick", action="store_true", help="values and gradients alone")
    parser.add_argument(
        "--parts", default="first,gradients,effective,peers", help="what is measured"
    )
    parser.add_argument("--more", action="store_true", help="keep what was measured before")
    options = parser.parse_args()
    copy = posteriors.database(options.posteriordb)
    if copy is None or not (copy / "posteriors").is_dir():
        parser.error(f"POSTERIORDB names no copy of posteriordb: {copy}; see docs/race.md")
    chosen = [x for x in options.models.split(",") if x]
    names = posteriors.posterior_names()
    if chosen:
        names = tuple(x for x in names if x in chosen or x.split("-", 1)[1] in chosen)
    from tests.benchmarks.posteriordb import table

    options.out.mkdir(parents=True, exist_ok=True)
    lines = table.read(options.out)[1] if options.more else []
    for name in names:
        parts = options.parts.split(",")
        line = quick(name, copy) if options.quick else measure(name, copy.resolve(), parts)
        earlier = next((x for x in lines if x["posterior"] == name), {})
        if options.quick or parts != ["peers"]:  # which has a date and a load of its own
            line |= circumstances()
            earlier.pop("failed", None)
        print(json.dumps(line), flush=True)
        if "effective" in parts:
            earlier.pop("sampling", None)  # which says what failed
        lines = [x for x in lines if x["posterior"] != name] + [earlier | line]
        texts = [json.dumps(x) for x in [{"machine": machine()}, *lines]]
        (options.out / "race.jsonl").write_text("\n".join(texts) + "\n")
    table.write(options.out)
    print((options.out / "race.md").read_text())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--task"]:
        task, name, folder, *who = sys.argv[2:]
        if task == "first":
            print(json.dumps(first_gradient(name, who[0], Path(folder))))
        else:
            print(json.dumps(TASKS[task](name, Path(folder))))
    else:
        main()
