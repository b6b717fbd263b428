"""Strange values at every entry: the right result, or an error that says what to do."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from tests.hostile.children import run
from tests.hostile.tally import Faults

pytestmark = pytest.mark.slow


def count(faults: Faults, code: str, timeout: float = 300.0) -> None:
    """Count the faults that a program prints, a line of JSON for each of them."""
    before = faults.tried
    for line in run(code, timeout=timeout).ok().splitlines():
        name, held, why = json.loads(line)
        faults.count(name, held, why)
    assert faults.tried > before


@pytest.mark.parametrize("group", ["VALUES", "SELECTIONS", "OPERANDS"])
def test_values_of_any_class(faults, group):
    count(
        faults,
        f"""
        from tests.hostile import entries
        entries.report(entries.{group})
        """,
    )


@pytest.mark.compiled
@pytest.mark.parametrize("backend", ["python", "numba", "jax"])
def test_values_of_any_class_in_calls(faults, backend):
    count(
        faults,
        f"""
        from tests.hostile.entries import Entry, compiled, positional, report
        report({{
            "a call on {backend}": Entry(compiled("{backend}")),
            "a positional call on {backend}": Entry(positional("{backend}"), refuses=True),
        }})
        """,
    )


def test_labels_of_any_class(faults):
    count(
        faults,
        """
        from tests.hostile.entries import report_labels
        from tests.hostile.strange import LABELS
        report_labels(LABELS)
        """,
    )


SEEDS = """
    import json, warnings
    import numpy as np
    import dimtensor as dt
    from dimtensor import dist

    warnings.simplefilter("ignore")
    k = dt.Dim("k", length=3)
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    model = dt.Model(dt.rv("y", dist.Normal(mu, 1.0), dims=k), backend="python")
    z = dt.rv("z", dist.Bernoulli(0.5))
    mixed = dt.Model(dt.rv("y", dist.Normal(mu + z, 1.0), dims=k), backend="python")
    fit, summed = (m.observe(y=[1.0, 2.0, 3.0]) for m in (model, mixed))
    summed = summed.marginalize(z)
    post = fit.laplace(2, seed=1)
    quiet = dict(tune=5, chains=1, progress_bar=False, report=False)
    few = dict(draws=5, tune=5, chains=1, processes=1)
    takers = {
        "sample": lambda seed: fit.sample(5, seed=seed, **quiet),
        "dt.sample": lambda seed: dt.sample(fit.log_density(), 5, seed=seed, **quiet),
        "laplace": lambda seed: fit.laplace(2, seed=seed),
        "pathfinder": lambda seed: fit.pathfinder(2, paths=1, maxiter=5, seed=seed),
        "advi": lambda seed: fit.advi(2, steps=2, seed=seed),
        "draw": lambda seed: model.draw(2, seed=seed),
        "predict": lambda seed: fit.predict(post, seed=seed),
        "recover": lambda seed: summed.recover(post, seed=seed),
        "calibrate": lambda seed: dt.calibrate(model, 1, seed=seed, ranks=3, thin=1, tune=5,
                                               processes=1),
        "cross_validate": lambda seed: dt.cross_validate(fit, k, folds=3, seed=seed, **few),
        "generator": lambda seed: dt.random.generator(seed),
    }
    wrong = [-1, 2**63, 2**70, 10**5000, True, "x", b"1", 1.5, 2.0, float("nan"), np.array([1]),
             [1], np.random.default_rng(1), np.ma.masked, object(), dt.Dim("seed")]
    for name, take in takers.items():
        for seed in wrong:
            held, why = False, "accepted"
            try:
                take(seed)
            except dt.OptionError as error:
                held, why = "hint: " in str(error), str(error)
            except Exception as error:
                why = type(error).__name__ + str(error)[:100]
            print(json.dumps([name + " " + dt.errors.plain_repr(seed)[:40], held, why]))
"""


def test_seeds(faults):
    count(faults, SEEDS)


@pytest.mark.compiled
def test_the_largest_seed_is_one(faults):
    taken = SEEDS.partition("    wrong = ")[0]
    names = ["laplace", "draw", "predict", "recover", "sample", "calibrate", "cross_validate"]
    code = f"""
    for name in {names}:
        takers[name](np.int64(2**63 - 1))
        print(name)
"""
    ended = run(taken + code)
    for name in names:
        faults.count(name, name in ended.out.split(), ended.err[-300:])


KEPT = """
    import {library} as pickle
    import numpy as np
    import dimtensor as dt
    from pathlib import Path
    from tests.hostile import pickled

    objects = {{**pickled.tables(), **pickled.joint(), **pickled.others()}}
    computed = {{name: pickled.computed(one) for name, one in objects.items()}}
    Path("objects").write_bytes(pickle.dumps((objects, computed)))
"""
AGAIN = """
    import json, pickle
    import numpy as np
    from pathlib import Path
    from tests.hostile import pickled

    objects, computed = pickle.loads(Path("objects").read_bytes())
    for name, one in objects.items():
        found = pickled.computed(one)
        held = pickled.same(found, computed[name])
        print(json.dumps([name, held, f"{found} is not {computed[name]}"]))
"""


@pytest.mark.parametrize("library", ["pickle", "cloudpickle"])
def test_pickled_objects_compute_the_same_in_another_process(faults, library: str, tmp_path: Path):
    first = "import cloudpickle\n" + textwrap.dedent(KEPT.format(library=library))
    run(first, cwd=tmp_path).ok()
    for line in run(AGAIN, cwd=tmp_path).ok().splitlines():
        name, held, why = json.loads(line)
        faults.count(name, held, why)


def test_a_function_that_pickle_does_not_find_is_refused(faults):
    ended = run("""
        import pickle
        import dimtensor as dt
        from dimtensor import dist
        pickle.dumps(dist.custom(lambda x: -x * x, dt.real))
    """)
    faults.count("a lambda", "GraphError" in ended.err and "top of a module" in ended.err)


def test_spawned_workers(faults, tmp_path: Path):
    (tmp_path / "program.py").write_text(
        textwrap.dedent("""
        import multiprocessing
        from tests.hostile import pickled

        if __name__ == "__main__":
            objects = {**pickled.tables(), **pickled.joint(), **pickled.others()}
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                found = pool.map(pickled.computed, objects.values())
            wanted = map(pickled.computed, objects.values())
            print(sum(map(pickled.same, found, wanted)), len(objects))
        """)
    )
    same, tried = (
        run(f"import runpy; runpy.run_path({str(tmp_path / 'program.py')!r}, run_name='__main__')")
        .ok()
        .split()
    )
    for number in range(int(tried)):
        faults.count(f"object {number}", number < int(same))
