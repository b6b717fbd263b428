"""Sampling from a model whose data lie on the workers of a dask cluster.

    python examples/cluster.py

starts a cluster of two processes on this machine. With ``--address`` it uses one that runs, on any
number of machines, whose environments have dimtensor:

    dask scheduler                                        # prints its address
    dask worker tcp://192.168.1.10:8786 --nthreads 4      # on each machine
    python examples/cluster.py --address tcp://192.168.1.10:8786
"""

import argparse
from contextlib import ExitStack

import numpy as np
from distributed import Client, LocalCluster

import dimtensor as dt
from dimtensor import dist


def model(rows: int, groups: int = 50) -> tuple[dt.Model, np.ndarray]:
    """Simulate yes and no of people in groups, and observe them; return the truth, too."""
    rng = np.random.default_rng(1)
    person, group = dt.Dim("person"), dt.Dim("group", length=groups)
    truth = rng.normal(0.5, 0.8, groups)
    of = rng.integers(0, groups, rows)
    age = rng.normal(size=rows)
    answer = rng.random(rows) < 1 / (1 + np.exp(-(truth[of] + 0.3 * age)))

    mean = dt.rv("mean", dist.Normal(0.0, 1.0))
    spread = dt.rv("spread", dist.HalfNormal(1.0))
    effect = dt.rv("effect", dist.Normal(mean, spread), dims=group)
    slope = dt.rv("slope", dist.Normal(0.0, 1.0))
    where = dt.data(of, dims=person, categories=group, name="where")
    logit = effect.sel(group=where) + slope * dt.data(age, dims=person, name="age")
    yes = dt.rv("yes", dist.Bernoulli(logit_p=logit), dims=person)
    return dt.Model(yes).observe({yes: answer}), truth


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--address", help="of the scheduler of a running cluster")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--draws", type=int, default=200)
    options = parser.parse_args()
    with ExitStack() as stack:
        cluster = options.address
        if cluster is None:
            cluster = stack.enter_context(LocalCluster(n_workers=2, threads_per_worker=1))
        client = stack.enter_context(Client(cluster))
        fit, truth = model(options.rows)
        draws = {"draws": options.draws, "tune": options.draws, "chains": 2}
        post = fit.sample(**draws, seed=1, client=client, progress_bar=False)
        effect = post["posterior"]["effect"].mean(["chain", "draw"]).values
        print(f"slope: {float(post['posterior']['slope'].mean()):.2f} (simulated with 0.30)")
        print(f"largest error of an effect: {np.abs(effect - truth).max():.2f}")


if __name__ == "__main__":  # the processes of the cluster import this file
    main()
