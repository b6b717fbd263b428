"""Programs as they are written and as ``simplify=True`` rewrites them, on numba.

``factorization``, ``glm``, ``mlr``, ``svm`` and ``pnmf`` are expressions of the algorithms that
SPORES was measured on (Wang et al., VLDB 2020), with dense matrices; the others are log densities
of models, with their gradients. ``us`` are microseconds of a call on plain arrays, ``ratio`` is
that to the call as written, ``cost`` the operations that dimtensor counts, ``simplify_s`` the
seconds that rewriting took. Rules that can lose digits are asked for in ``factorization``,
``regression`` and ``factors``.

``python cases/simplify.py radon glm`` prints the lines of some programs.
"""

import json
import statistics
import sys
import time

import numpy as np

ROUNDS = 5
ASKED = ("factorization", "regression", "factors")


def _rng():
    return np.random.default_rng(1)


def _sized(n, scale):
    return max(4, round(n * scale))


def factorization(scale):
    """The gradient of matrix factorization by one factor: (U V' - X) V."""
    import dimtensor as dt

    n, m, r = _sized(1000, scale), _sized(800, scale), 20
    row, col, rank = dt.Dim("row", length=n), dt.Dim("col", length=m), dt.Dim("rank", length=r)
    rng = _rng()
    x = dt.data(rng.normal(size=(n, m)), dims=[row, col], name="x")
    u, v = dt.tensor("u", dims=[row, rank]), dt.tensor("v", dims=[col, rank])
    slope = dt.dot(dt.dot(u, v, dim=rank) - x, v, dim=col)
    return [u, v], [slope], [(("row", "rank"), rng.normal(size=(n, r))),
                             (("col", "rank"), rng.normal(size=(m, r)))]  # fmt: skip


def glm(scale):
    """The Hessian of a generalized linear model, X' diag(w) X, times a vector."""
    import dimtensor as dt

    n, k = _sized(20_000, scale), 30
    obs, col = dt.Dim("obs", length=n), dt.Dim("col", length=k)
    rng = _rng()
    x = dt.data(rng.normal(size=(n, k)), dims=[obs, col], name="x")
    w, v = dt.tensor("w", dims=obs), dt.tensor("v", dims=col)
    hessian = dt.dot(x * w, x.rename_dim(col, col.rename()), dim=obs)
    return [w, v], [dt.dot(hessian, v, dim=col)], [rng.uniform(size=n), rng.normal(size=k)]


def mlr(scale):
    """Multinomial logistic regression: P X - P sum(P) X, where P is a vector."""
    import dimtensor as dt

    n, k = _sized(20_000, scale), 30
    obs, col = dt.Dim("obs", length=n), dt.Dim("col", length=k)
    rng = _rng()
    x = dt.data(rng.normal(size=(n, k)), dims=[obs, col], name="x")
    p, v = dt.tensor("p", dims=obs), dt.tensor("v", dims=obs)
    total = dt.dot(p * x - p * p * x, v, dim=obs)
    return [p, v], [total], [rng.uniform(size=n), rng.normal(size=n)]


def svm(scale):
    """The objective of a support vector machine with squared hinges, and its gradient."""
    import dimtensor as dt

    n, k = _sized(20_000, scale), 30
    obs, col = dt.Dim("obs", length=n), dt.Dim("col", length=k)
    rng = _rng()
    x = dt.data(rng.normal(size=(n, k)), dims=[obs, col], name="x")
    y = dt.data(rng.choice([-1.0, 1.0], n), dims=obs, name="y")
    w = dt.tensor("w", dims=col)
    hinge = dt.maximum(1.0 - y * dt.dot(x, w, dim=col), 0.0)
    total = 0.5 * (hinge * hinge).sum() + 0.5 * (w * w).sum()
    return [w], [total, dt.grad(total, w)], [0.1 * rng.normal(size=k)]


def pnmf(scale):
    """Of the objective of Poisson matrix factorization the part sum(W H), with its gradient."""
    import dimtensor as dt

    n, m, r = _sized(1000, scale), _sized(800, scale), 20
    row, col, rank = dt.Dim("row", length=n), dt.Dim("col", length=m), dt.Dim("rank", length=r)
    rng = _rng()
    w, h = dt.tensor("w", dims=[row, rank]), dt.tensor("h", dims=[rank, col])
    total = dt.dot(w, h, dim=rank).sum()
    return [w, h], [total, *dt.grad(total, [w, h])], [
        (("row", "rank"), rng.uniform(size=(n, r))), (("rank", "col"), rng.uniform(size=(r, m)))
    ]  # fmt: skip


def _houses(n):
    import dimtensor as dt

    rng = _rng()
    county, house = dt.Dim("county", length=85), dt.Dim("house")
    where = dt.data(rng.integers(0, 85, n), dims=house, categories=county, name="where")
    floor = dt.data(rng.integers(0, 2, n).astype(float), dims=house, name="floor")
    uranium = dt.data(rng.normal(size=85), dims=county, name="uranium")
    return rng, county, house, where, floor, uranium


def radon(scale):
    """The radon model of a million houses: the likelihood, with its gradient."""
    import dimtensor as dt

    n = _sized(1_000_000, scale)
    rng, county, house, where, floor, uranium = _houses(n)
    y = dt.data(rng.normal(1.0, 1.0, n), dims=house, name="y")
    alpha = dt.tensor("alpha", dims=county)
    slope, gamma, sigma = dt.scalar("slope"), dt.scalar("gamma"), dt.scalar("sigma")
    mean = alpha.sel(county=where) + gamma * uranium.sel(county=where) + slope * floor
    total = (-0.5 * ((y - mean) / sigma) ** 2 - dt.log(sigma) - 0.5 * np.log(2 * np.pi)).sum()
    inputs = [alpha, slope, gamma, sigma]
    values = [rng.normal(size=85), *map(np.asarray, (-0.6, 0.7, 0.8))]
    return inputs, [total, *dt.grad(total, inputs)], values


def poisson(scale):
    """Counts with effects of county and uranium: the likelihood, with its gradient."""
    import dimtensor as dt

    n = _sized(200_000, scale)
    rng, county, house, where, _, uranium = _houses(n)
    y = dt.data(rng.poisson(2.0, n).astype(float), dims=house, name="y")
    alpha, gamma = dt.tensor("alpha", dims=county), dt.scalar("gamma")
    eta = alpha.sel(county=where) + gamma * uranium.sel(county=where)
    total = (y * eta - dt.exp(eta) - dt.special.gammaln(y + 1.0)).sum()
    return (
        [alpha, gamma],
        [total, *dt.grad(total, [alpha, gamma])],
        [0.1 * rng.normal(size=85), np.asarray(0.1)],
    )


def regression(scale):
    """A linear regression of many observations: squares of residuals, with the gradient."""
    import dimtensor as dt

    n, k = _sized(100_000, scale), 10
    obs, col = dt.Dim("obs", length=n), dt.Dim("col", length=k)
    rng = _rng()
    x = dt.data(rng.normal(size=(n, k)), dims=[obs, col], name="x")
    y = dt.data(rng.normal(size=n), dims=obs, name="y")
    beta, sigma = dt.tensor("beta", dims=col), dt.scalar("sigma")
    total = (((y - dt.dot(x, beta, dim=col)) / sigma) ** 2).sum()
    inputs = [beta, sigma]
    return inputs, [total, *dt.grad(total, inputs)], [rng.normal(size=k), np.asarray(1.2)]


def kronecker(scale):
    """A Gaussian process on a grid: the covariance is a Kronecker product."""
    import dimtensor as dt

    n = _sized(16, scale)
    i, j = dt.Dim("i", length=n), dt.Dim("j", length=n)
    rng = _rng()
    a, b = dt.tensor("a", dims=[i, i.rename()]), dt.tensor("b", dims=[j, j.rename()])
    product = dt.ProductDim([i, j])
    y = dt.data(rng.normal(size=n * n), dims=product, name="y")
    covariance = dt.kron(a, b)
    x = dt.linalg.solve(covariance, y)
    total = (
        -0.5 * dt.dot(y, x.relabel(x.dims[0], product))
        - 0.5 * dt.linalg.slogdet(covariance).logabsdet
    )
    values = [
        ((name, name + "'"), m @ m.T + n * np.eye(n))
        for name, m in zip("ij", rng.normal(size=(2, n, n)), strict=True)
    ]
    return [a, b], [total], values


def factors(scale):
    """A normal vector with a few factors: the covariance is a diagonal plus low rank."""
    import dimtensor as dt

    n, r = _sized(200, scale), 3
    k, rank = dt.Dim("k", length=n), dt.Dim("rank", length=r)
    rng = _rng()
    y = dt.data(rng.normal(size=n), dims=k, name="y")
    d, u = dt.tensor("d", dims=k), dt.tensor("u", dims=[k, rank])
    covariance = dt.eye(k) * d + dt.dot(u, u.rename_dim(k, k.rename()), dim=rank)
    x = dt.linalg.solve(covariance, y)
    total = (
        -0.5 * dt.dot(y, x.relabel(x.dims[0], k)) - 0.5 * dt.linalg.slogdet(covariance).logabsdet
    )
    values = [rng.uniform(1.0, 2.0, n), (("k", "rank"), rng.normal(size=(n, r)))]
    return [d, u], [total, *dt.grad(total, [d, u])], values


PROGRAMS = (factorization, glm, mlr, svm, pnmf, radon, poisson, regression, kronecker, factors)


def prepared(program, scale, simplify, backend="numba"):
    """The function of a program, and a call of it with labels."""
    import dimtensor as dt

    inputs, outputs, values = program(scale)
    allow = "reassociate" if simplify and program.__name__ in ASKED else ()
    if simplify:
        outputs = dt.simplify(outputs, allow=allow).result
    return dt.function(inputs, outputs, backend), values


def positional(f, values):
    """A call of plain arrays."""
    arrays = [
        np.ascontiguousarray(np.transpose(v[1], [v[0].index(name) for name in wanted]))
        if isinstance(v, tuple)
        else np.asarray(v, dtype=float)
        for v, wanted in zip(
            values, [[d.name for d in dims] for dims in f.positional.input_dims], strict=True
        )
    ]
    return lambda: f.positional(*arrays)


def lines_of(program, scale=1):
    """A line for the program as it is written and one for what becomes of it."""
    from run import calls_per_sample, three_digits, time_call

    import dimtensor as dt

    calls, lines, results = [], [], []
    _, outputs, _ = program(scale)
    allow = "reassociate" if program.__name__ in ASKED else ()
    started = time.process_time()
    found = dt.simplify(outputs, allow=allow)
    simplify_s = time.process_time() - started
    for simplify in (False, True):
        started = time.perf_counter()
        f, values = prepared(program, scale, simplify)
        results.append([np.asarray(x) for x in f(*values)])
        compile_s = time.perf_counter() - started
        calls.append(positional(f, values))
        lines.append(
            {
                "case": "simplify",
                "program": program.__name__,
                "who": "simplified" if simplify else "as-written",
                "compile_s": round(compile_s, 3),
                "cost": round(found.after if simplify else found.before),
            }
        )
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-8, atol=1e-9 * np.abs(one).max())
    numbers = [calls_per_sample(call) for call in calls]
    times = [[], []]
    for _ in range(ROUNDS):
        for which, (number, call) in enumerate(zip(numbers, calls, strict=True)):
            times[which].append(time_call(number, call))
    ratios = [b / a for a, b in zip(*times, strict=True)]
    for line, own in zip(lines, times, strict=True):
        line["us"] = three_digits(statistics.median(own))
    lines[0]["ratio"], lines[1]["ratio"] = 1.0, three_digits(statistics.median(ratios))
    lines[1]["simplify_s"] = round(simplify_s, 3)
    lines[1]["rules"] = found.rules
    yield from lines


def measure():
    for program in PROGRAMS:
        yield from lines_of(program)


if __name__ == "__main__":
    sys.path.insert(0, str(__file__).rsplit("/cases/", 1)[0])
    chosen = sys.argv[1:]
    for program in PROGRAMS:
        if not chosen or program.__name__ in chosen:
            for line in lines_of(program):
                print(json.dumps(line), flush=True)
