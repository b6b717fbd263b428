"""Normal vectors integrated out as a whole, beside normal densities of SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import dimtensor as dt
from dimtensor import dist
from dimtensor.marginal.frontend import read_unknowns
from dimtensor.marginal.recovery import positions
from dimtensor.random import generator
from tests.backend_names import LONG_JAX_COMPILED

SCALE = dt.scalar("scale")
G, H = dt.Dim("g", length=2), dt.Dim("h", length=2)
POINT = 0.8


class Joint:
    """y = offset + A x + errors, x normal: everything about it by dense matrices."""

    def __init__(self, terms, unknowns, mean, covariance, design, offset, sd, y):
        self.terms, self.unknowns, self.y = terms, unknowns, np.asarray(y)
        self.mean, self.covariance, self.design = mean, covariance, design
        self.offset, self.sd = offset, np.broadcast_to(sd, self.y.shape)

    def logp(self, scale):
        whole = self.design @ self.covariance(scale) @ self.design.T + np.diag(self.sd**2)
        center = self.offset + self.design @ self.mean
        return stats.multivariate_normal.logpdf(self.y, center, whole)

    def posterior(self, scale):
        prior = self.covariance(scale)
        whole = self.design @ prior @ self.design.T + np.diag(self.sd**2)
        gain = np.linalg.solve(whole, self.design @ prior).T
        error = self.y - self.offset - self.design @ self.mean
        return self.mean + gain @ error, prior - gain @ self.design @ prior


def distances(at):
    return (at[:, None] - at) ** 2


def process(rng):
    """A Gaussian process seen at its points, with errors of different sizes."""
    n = 7
    at, y, sd = np.sort(rng.uniform(0, 5, n)), rng.normal(size=n), rng.uniform(0.3, 1.0, n)
    t = dt.Dim("t", length=n)
    f = dt.tensor("f", dims=t)
    kernel = dist.GP(
        lambda a, b: SCALE**2 * dt.exp(-0.5 * (a - b) ** 2), t, at=dt.data(at, dims=t), mean=0.4
    )
    seen = dist.Normal(1.0 + 2.0 * f, dt.data(sd, dims=t)).logp(dt.data(y, dims=t))

    def covariance(scale):
        return scale**2 * np.exp(-0.5 * distances(at)) + 1e-6 * np.eye(n)

    terms = {"f": kernel.logp(f), "y": seen}
    return Joint(terms, [f], np.full(n, 0.4), covariance, 2.0 * np.eye(n), 1.0, sd, y)


def in_groups(rng):
    """A vector with a precision, read by groups; some observations are missing."""
    n, m = 5, 9
    g, o = dt.Dim("g", length=n), dt.Dim("o", length=m)
    root, of, y = rng.normal(size=(n, n)), rng.integers(0, n, m), rng.normal(size=m)
    inverse, there = root @ root.T + np.eye(n), rng.random(m) < 0.7
    x = dt.tensor("x", dims=g)
    prior = dist.MvNormal(0.0, tau=SCALE * dt.data(inverse, dims=[g, g.rename()]))
    seen = dist.Normal(x.sel(g=dt.data(of, dims=o, categories=g)), 0.5).logp(dt.data(y, dims=o))
    terms = {"x": prior.logp(x), "y": dt.where(dt.data(there, dims=o), seen, 0.0)}
    design = np.eye(n)[of[there]]

    def covariance(scale):
        return np.linalg.inv(scale * inverse)

    return Joint(terms, [x], np.zeros(n), covariance, design, 0.0, 0.5, y[there])


def beside_a_mean(rng):
    """A vector with a Cholesky factor around a mean that is unknown, too."""
    n = 4
    t = dt.Dim("t", length=n)
    x, m = dt.tensor("x", dims=t), dt.tensor("m")
    factor, y = np.tril(rng.normal(size=(n, n))) + 2 * np.eye(n), rng.normal(size=n)
    prior = dist.MvNormal(m, chol=dt.data(factor, dims=[t, t.rename()]))
    terms = {
        "m": dist.Normal(0.3, SCALE).logp(m),
        "x": prior.logp(x),
        "y": dist.Normal(x - m, 0.7).logp(dt.data(y, dims=t)),
    }

    def covariance(scale):
        whole = np.full((n + 1, n + 1), scale**2)
        whole[:n, :n] += factor @ factor.T
        return whole

    design = np.column_stack([np.eye(n), np.full(n, -1.0)])
    return Joint(terms, [x, m], np.full(n + 1, 0.3), covariance, design, 0.0, 0.7, y)


def regression(rng):
    """More slopes than are taken apart one by one."""
    n, m = 25, 15
    o, k = dt.Dim("o", length=n), dt.Dim("k", length=m)
    b, x, y = dt.tensor("b", dims=k), rng.normal(size=(n, m)), rng.normal(size=n)
    terms = {
        "b": dist.Normal(0.3, SCALE).logp(b),
        "y": dist.Normal(dt.dot(dt.data(x, dims=[o, k]), b, dim=k), 0.5).logp(dt.data(y, dims=o)),
    }
    return Joint(terms, [b], np.full(m, 0.3), lambda s: s**2 * np.eye(m), x, 0.0, 0.5, y)


def beside_each_other(rng):
    """Several vectors of one covariance."""
    n, m = 4, 3
    t, i = dt.Dim("t", length=n), dt.Dim("i", length=m)
    f, at, y = dt.tensor("f", dims=[i, t]), rng.uniform(0, 3, n), rng.normal(size=(m, n))
    kernel = dist.GP(
        lambda a, b: SCALE * dt.exp(-abs(a - b)), t, at=dt.data(at, dims=t), jitter=0.0
    )
    terms = {"f": kernel.logp(f), "y": dist.Normal(f, 0.6).logp(dt.data(y, dims=[i, t]))}

    def covariance(scale):
        return np.kron(np.eye(m), scale * np.exp(-np.sqrt(distances(at))))

    return Joint(terms, [f], np.zeros(n * m), covariance, np.eye(n * m), 0.0, 0.6, y.ravel())


def spread(rng, n):
    """A covariance."""
    root = rng.normal(size=(n, n))
    return root @ root.T + np.eye(n)


def pair(values, dim):
    return dt.data(values, dims=[dim, dim.rename()])


def matrix(rng):
    """A normal matrix of which parts are seen."""
    n, m = 3, 2
    t, i = dt.Dim("t", length=n), dt.Dim("i", length=m)
    x, rows, cols = dt.tensor("x", dims=[t, i]), spread(rng, n), spread(rng, m)
    mean, y, there = rng.normal(size=(m, n)), rng.normal(size=(m, n)), rng.random((m, n)) < 0.7
    prior = dist.MatrixNormal(dt.data(mean, dims=[i, t]), SCALE**2 * pair(rows, t), pair(cols, i))
    seen = dist.Normal(2.0 * x, 0.6).logp(dt.data(y, dims=[i, t]))
    terms = {"x": prior.logp(x), "y": dt.where(dt.data(there, dims=[i, t]), seen, 0.0)}

    def covariance(scale):
        return np.kron(cols, scale**2 * rows)

    design = 2.0 * np.eye(n * m)[there.ravel()]
    return Joint(terms, [x], mean.ravel(), covariance, design, 0.0, 0.6, y[there])


def neighbors(rng):
    """Neighbors that are alike, around a mean that is unknown; some are seen often."""
    n, m = 5, 8
    k, o = dt.Dim("k", length=n), dt.Dim("o", length=m)
    x, center = dt.tensor("x", dims=k), dt.tensor("center")
    weights = np.triu(rng.integers(0, 2, (n, n)), 1) + np.eye(n, k=1)
    weights = weights + weights.T
    of, y = rng.integers(0, n, m), rng.normal(size=m)
    prior = dist.CAR(center, pair(weights, k), 0.6, SCALE)
    terms = {
        "center": dist.Normal(-0.2, 0.5).logp(center),
        "x": prior.logp(x),
        "y": dist.Normal(x.sel(k=dt.data(of, dims=o, categories=k)), 0.5).logp(dt.data(y, dims=o)),
    }

    def covariance(scale):
        whole = np.full((n + 1, n + 1), 0.25)
        whole[:n, :n] += np.linalg.inv(scale * (np.diag(weights.sum(1)) - 0.6 * weights))
        return whole

    design = np.column_stack([np.eye(n)[of], np.zeros(m)])
    return Joint(terms, [x, center], np.full(n + 1, -0.2), covariance, design, 0.0, 0.5, y)


def slopes_of_groups(rng):
    """Intercepts and slopes of groups, which are correlated."""
    n, m = 3, 9
    g, k, o = dt.Dim("g", length=n), dt.Dim("k", length=2), dt.Dim("o", length=m)
    b, cov = dt.tensor("b", dims=[g, k]), spread(rng, 2)
    of, x, y = rng.integers(0, n, m), rng.normal(size=(m, 2)), rng.normal(size=m)
    prior = dist.MvNormal(dt.data([0.4, -1.0], dims=k), SCALE * pair(cov, k))
    mine = b.sel(g=dt.data(of, dims=o, categories=g))
    mean = dt.dot(mine, dt.data(x, dims=[o, k]), dim=k)
    terms = {"b": prior.logp(b), "y": dist.Normal(mean, 0.4).logp(dt.data(y, dims=o))}

    def covariance(scale):
        return np.kron(np.eye(n), scale * cov)

    design = np.zeros((m, n, 2))
    design[np.arange(m), of] = x
    center = np.tile([0.4, -1.0], n)
    return Joint(terms, [b], center, covariance, design.reshape(m, -1), 0.0, 0.4, y)


MAKERS = [process, in_groups, beside_a_mean, regression, beside_each_other, matrix, neighbors,
          slopes_of_groups]  # fmt: skip


def check(made, seed, backend="python"):
    joint = made(np.random.default_rng(seed))
    logp, h = dt.marginalize(joint.terms, *joint.unknowns), 1e-5
    value, slope = dt.evaluate([logp, dt.grad(logp, SCALE)], {SCALE: POINT}, backend=backend)
    assert float(value) == pytest.approx(joint.logp(POINT), rel=1e-10)
    expected = (joint.logp(POINT + h) - joint.logp(POINT - h)) / (2 * h)
    assert float(slope) == pytest.approx(expected, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("made", MAKERS)
def test_the_integral_is_a_dense_normal_density(made, seed):
    check(made, seed)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
@pytest.mark.parametrize("made", [process, in_groups, matrix])
def test_the_integral_on_compiled_backends(made, backend):
    check(made, 3, backend)


@pytest.mark.parametrize("made", MAKERS)
def test_values_are_recovered(made):
    joint = made(np.random.default_rng(5))
    n = 20_000
    draw, rng = dt.Dim("draw", length=n), generator(5)

    def normal(dims):
        nonlocal rng
        x, rng = rng.normal(0.0, 1.0, dims=tuple(dict.fromkeys((*dims, draw))))
        return x

    known = read_unknowns(joint.unknowns, {})
    nodes = {key: term.node for key, term in joint.terms.items()}
    mean, covariance = joint.posterior(POINT)
    best = dt.evaluate(positions(nodes, known, None), {SCALE: POINT})
    dims = ["i", "t", "g", "k"]

    def in_order(found, *leading):
        arrays = [found[x.name] for x in joint.unknowns]
        return [a.transpose(*leading, *[d for d in dims if d in a.dims]).values for a in arrays]

    found = np.concatenate([x.ravel() for x in in_order(best)])
    np.testing.assert_allclose(found, mean, rtol=1e-8, atol=1e-9)
    drawn = dt.evaluate(positions(nodes, known, normal, normal), {SCALE: POINT})
    drawn = np.concatenate([x.reshape(n, -1) for x in in_order(drawn, "draw")], axis=1)
    spread = np.sqrt(np.diag(covariance))
    assert (abs(drawn.mean(0) - mean) < 5 * spread / np.sqrt(n)).all()
    scaled = np.outer(spread, spread)
    np.testing.assert_allclose(np.cov(drawn.T) / scaled, covariance / scaled, atol=0.05)


def test_a_process_of_a_model():
    n = 6
    t = dt.Dim("t", coords=np.arange(2000, 2000 + n))
    length, noise = dt.rv("length", dist.HalfNormal(1.0)), dt.rv("noise", dist.HalfNormal(1.0))
    at = dt.arange(t) * 0.5
    f = dt.rv("f", dist.GP(lambda a, b: dt.exp(-0.5 * ((a - b) / length) ** 2), t, at=at))
    y = dt.rv("y", dist.Normal(f, noise))
    seen = np.sin(np.arange(n))
    fit = dt.Model(y, backend="python").observe({y: seen}).marginalize(f)
    assert fit.elimination_order == "f: a Cholesky factor, t (6) × t (6)"
    assert fit.log_density().names == ["length", "noise"]
    prior = np.exp(-0.5 * distances(0.5 * np.arange(n)) / 0.49) + 1e-6 * np.eye(n)
    whole = prior + 0.04 * np.eye(n)
    found = fit.logp({"length": 0.7, "noise": 0.2})
    expected = stats.multivariate_normal.logpdf(seen, np.zeros(n), whole)
    assert float(found["y"]) == pytest.approx(expected, rel=1e-9)
    draws = {"length": [[0.7, 0.7]], "noise": [[0.2, 0.2]]}
    post = xr.Dataset({name: (("chain", "draw"), x) for name, x in draws.items()})
    best = fit.recover(post, how="most probable")["posterior"]["f"]
    assert best.t.values.tolist() == list(range(2000, 2006))
    mean = prior @ np.linalg.solve(whole, seen)
    np.testing.assert_allclose(best.isel(chain=0, draw=1), mean, rtol=1e-8)
    drawn = fit.recover(post, seed=1)["posterior"]["f"]
    assert drawn.sizes == {"chain": 1, "draw": 2, "t": n}
    assert float(abs(drawn.isel(draw=0) - drawn.isel(draw=1)).max()) > 0
    with pytest.raises(dt.GraphError, match="no log density of 'y' element by element"):
        fit.log_likelihood(post)


@pytest.mark.parametrize("sign", ["minus", "plus", "from"])
@pytest.mark.parametrize("lower", [True, False])
def test_densities_that_are_written_out(lower, sign):
    """Squares of solutions, with a mask that says where nothing is seen."""
    n, rng = 3, np.random.default_rng(4)
    t = dt.Dim("t", length=n)
    f, m = dt.tensor("f", dims=t), np.array([0.5, -1.0, 2.0])
    root = rng.normal(size=(n, n)) + 3 * np.eye(n)
    root = np.tril(root) if lower else np.triu(root)
    mean = dt.data(m, dims=t)
    apart = {"minus": f - mean, "plus": f + mean, "from": mean - f}[sign]
    z = dt.linalg.solve_triangular(dt.data(root, dims=[t, t.rename()]), apart, lower=lower)
    y, missing = np.array([0.3, np.nan, 1.0]), np.array([False, True, False])
    seen = -0.5 * (2.0 * f - dt.data(y, dims=t)) ** 2
    terms = {"f": -0.5 * (z * z).sum(), "y": dt.where(dt.data(missing, dims=t), 0.0, seen)}
    weights = 2.0 * dt.data([0.1, 0.2, 0.3], dims=t)
    terms["more"] = (weights * f).sum() / 3.0 - f.isel(t=0)
    inverse = np.linalg.inv(root)
    center = -m if sign == "plus" else m
    precision = inverse.T @ inverse + 4.0 * np.diag(~missing)
    linear = inverse.T @ inverse @ center + 2.0 * np.where(missing, 0.0, y)
    linear += 2.0 * np.array([0.1, 0.2, 0.3]) / 3.0 - np.eye(n)[0]
    constant = -0.5 * (inverse @ center) @ (inverse @ center) - 0.5 * np.nansum(y**2)
    _, logdet = np.linalg.slogdet(precision / (2 * np.pi))
    expected = constant + 0.5 * linear @ np.linalg.solve(precision, linear) - 0.5 * logdet
    assert float(dt.marginalize(terms, f).eval()) == pytest.approx(expected, rel=1e-12)


def test_squares_that_are_weighted_after_they_are_summed_are_refused():
    """Weights along a dim that was summed over are others than those of the summands."""
    k = dt.Dim("k", length=15)
    x, w = dt.tensor("x", dims=k), dt.data(np.arange(1.0, 16.0), dims=k)
    total = dt.dot(w, x, dim=k)
    prior = -0.5 * ((x * x).sum(k) * w).sum(k)
    with pytest.raises(dt.GraphError, match="'x' cannot be summed out position by position"):
        dt.marginalize({"x": prior, "y": -0.5 * total**2}, x)


def test_lengths_may_come_with_the_data():
    t = dt.Dim("t")
    f, y, at = (dt.tensor(name, dims=t) for name in ("f", "y", "at"))
    prior = dist.GP(lambda a, b: SCALE * dt.exp(-abs(a - b)), t, at=at, jitter=0.0)
    logp = dt.marginalize({"f": prior.logp(f), "y": dist.Normal(f, 0.5).logp(y)}, f)
    g = dt.function([SCALE, at, y], logp, backend="python")
    for n in (1, 4):
        where, seen = np.arange(n) ** 1.5, np.cos(np.arange(n))
        whole = 0.7 * np.exp(-np.sqrt(distances(where))) + 0.25 * np.eye(n)
        expected = stats.multivariate_normal.logpdf(seen, np.zeros(n), whole)
        assert float(g(0.7, where, seen)) == pytest.approx(expected, rel=1e-10)


def test_a_process_whose_kernel_has_a_class():
    """The process is integrated out first, then the class is summed out."""
    n, kind = 4, dt.Dim("kind", coords=["rough", "smooth"])
    t = dt.Dim("t", length=n)
    z, f, y = dt.tensor("z", categories=kind), dt.tensor("f", dims=t), np.array([0.1, 0.5, 0.2, 1])
    scale = dt.data([0.5, 2.0], dims=kind).sel(kind=z)
    prior = dist.GP(lambda a, b: dt.exp(-abs(a - b) / scale), t, at=dt.arange(t), jitter=0.0)
    terms = {
        "z": dist.Categorical(dt.data([0.3, 0.7], dims=kind), dim=kind).logp(z),
        "f": prior.logp(f),
        "y": dist.Normal(f, 0.5).logp(dt.data(y, dims=t)),
    }
    far = np.sqrt(distances(np.arange(n)))
    each = [
        weight * stats.multivariate_normal.pdf(y, np.zeros(n), np.exp(-far / s) + 0.25 * np.eye(n))
        for weight, s in ((0.3, 0.5), (0.7, 2.0))
    ]
    found = float(dt.marginalize(terms, z, f).eval())
    assert found == pytest.approx(np.log(sum(each)), rel=1e-10)


def test_what_is_no_normal_density_of_a_vector():
    t = dt.Dim("t", length=3)
    f = dt.tensor("f", dims=t)
    prior = dist.GP(lambda a, b: dt.exp(-abs(a - b)), t, at=dt.arange(t)).logp(f)
    with pytest.raises(dt.GraphError, match=r"'f' is continuous(.|\n)*exp\(f\)"):
        dt.marginalize({"f": prior, "y": dist.Normal(dt.exp(f), 1.0).logp(0.5)}, f)
    with pytest.raises(dt.GraphError, match="'f' is continuous"):
        dt.marginalize({"f": dist.MvStudentT(3.0, 0.0, dt.eye(t)).logp(f)}, f)
    many = dt.tensor("many", dims=dt.Dim("o", length=30))
    with pytest.raises(dt.GraphError, match="'many' cannot be summed out position by"):
        dt.marginalize({"y": dist.Normal(many.sum(), 1.0).logp(0.5)}, many)


@pytest.mark.parametrize("how", ["sum", "lag", "relabel", "roll"])
def test_vectors_that_means_mix_are_one_vector(how):
    """They are normal over the product of the dims; where a mean reads earlier ones, in a loop."""
    rng = np.random.default_rng(6)
    part = dt.Dim("part", length=3)
    cov = spread(rng, 3)
    f = dt.rv("f", dist.MvNormal(dt.data([0.3, 0.0, -1.0], dims=part), pair(cov, part)), dims=[G])
    mean, across = {
        "sum": (f + 0.5 * f.sum(G), np.eye(2) + 0.5),
        "lag": (f + 0.5 * f.shift({G: 1}, fill_value=0.0), np.eye(2) + 0.5 * np.eye(2, k=-1)),
        "relabel": (
            f + 0.5 * f.relabel(G, H),
            np.eye(2).repeat(2, axis=0) + 0.5 * np.tile(np.eye(2), (2, 1)),
        ),
        "roll": (f + 0.5 * f.roll(g=1), np.array([[1.0, 0.5], [0.5, 1.0]])),
    }[how]
    order = [dim for dim in (G, H, part) if dim in mean.dims]
    y, seen = dt.rv("y", dist.Normal(mean, 0.7)), rng.normal(size=[d.length for d in order])
    fit = dt.Model(y, backend="python").observe({y: ([d._short for d in order], seen)})
    fit = fit.marginalize(f)
    whole = "f: a Cholesky factor, g (2) × part (3) × g (2) × part (3)"
    order = {"lag": "f: a loop along g, g (2) × 3 × 3"}.get(how, whole)
    assert fit.elimination_order == order
    design = np.kron(across, np.eye(3))
    center, prior = np.tile([0.3, 0.0, -1.0], 2), np.kron(np.eye(2), cov)
    whole = design @ prior @ design.T + 0.49 * np.eye(seen.size)
    expected = stats.multivariate_normal.logpdf(seen.ravel(), design @ center, whole)
    assert fit.log_density().logp(np.zeros(0)) == pytest.approx(expected, rel=1e-11)
    best = fit.recover(xr.Dataset(coords={"chain": [0], "draw": [0]}), how="most probable")
    error = seen.ravel() - design @ center
    moved = center + prior @ design.T @ np.linalg.solve(whole, error)
    found = best["posterior"]["f"].transpose(..., "g", "part").values
    np.testing.assert_allclose(found.ravel(), moved, rtol=1e-9)


def test_neighbors_whose_differences_are_normal():
    """The intrinsic autoregression has no covariance, but with what is seen of it there is one."""
    n, rng = 4, np.random.default_rng(7)
    k = dt.Dim("k", length=n)
    weights = np.eye(n, k=1) + np.eye(n, k=-1)
    x, y = dt.tensor("x", dims=k), rng.normal(size=n)
    prior = dist.ICAR(pair(weights, k), 0.7, zero_sum_stdev=0.1)
    seen = dist.Normal(x, 0.5).logp(dt.data(y, dims=k))
    found = float(dt.marginalize({"x": prior.logp(x), "y": seen}, x).eval())
    precision = (np.diag(weights.sum(1)) - weights) / 0.49 + np.full((n, n), 1 / 0.4**2)
    precision += 4.0 * np.eye(n)
    expected = stats.norm.logpdf(y, 0.0, 0.5).sum() - 0.5 * np.log(2 * np.pi) - np.log(0.4)
    expected -= 3.0 * np.log(0.7)
    expected += 8.0 * y @ np.linalg.solve(precision, y)
    expected -= 0.5 * np.linalg.slogdet(precision / (2 * np.pi))[1]
    assert found == pytest.approx(expected, rel=1e-11)


def test_a_matrix_of_a_length_that_comes_with_the_data():
    t, i = dt.Dim("t"), dt.Dim("i", length=2)
    f, y, at = dt.tensor("f", dims=[t, i]), dt.tensor("y", dims=[t, i]), dt.tensor("at", dims=t)
    after = t.rename()
    rows = dt.exp(-abs(at - at.relabel(t, after)))
    prior = dist.MatrixNormal(0.0, rows, pair([[1.0, 0.4], [0.4, 2.0]], i))
    logp = dt.marginalize({"f": prior.logp(f), "y": dist.Normal(f, 0.5).logp(y)}, f)
    g = dt.function([at, y], logp, backend="python")
    for n in (1, 3):
        where, seen = np.arange(n) ** 1.5, np.cos(np.arange(2.0 * n)).reshape(n, 2)
        whole = np.kron(np.exp(-np.sqrt(distances(where))), [[1.0, 0.4], [0.4, 2.0]])
        whole += 0.25 * np.eye(2 * n)
        expected = stats.multivariate_normal.logpdf(seen.ravel(), np.zeros(2 * n), whole)
        seen = xr.DataArray(seen, dims=["t", "i"])
        assert float(g(where, seen)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("summed", [("e", "a"), ("a", "e"), ("e",)])
def test_steps_that_are_added_up_and_their_level(summed):
    t, n = dt.Dim("t", length=6), 6
    a = dt.rv("a", dist.Normal(0.0, 1.0))
    e = dt.rv("e", dist.Normal(0.0, 1.0), dims=t)
    y = dt.rv("y", dist.Normal(a + 0.3 * e.cumsum(t), 0.5))
    seen = np.array([0.3, -0.2, 1.0, 1.4, 0.8, 2.0])
    fit = dt.Model(y, backend="python").observe(y=seen).marginalize(*summed)
    steps = 0.09 * np.minimum.outer(np.arange(1, n + 1), np.arange(1, n + 1))
    whole = steps + 0.25 * np.eye(n)
    point = {"a": 0.7} if "a" not in summed else {}
    mean = np.full(n, point.get("a", 0.0))
    whole = whole + 1.0 * ("a" in summed)
    found = fit.logp(point)["y"].sum()
    expected = stats.multivariate_normal.logpdf(seen, mean, whole)
    assert float(found) == pytest.approx(expected, rel=1e-11)
    post = xr.Dataset({"other": (("chain", "draw"), [[0.0]])})
    post = post.assign({name: (("chain", "draw"), [[x]]) for name, x in point.items()})
    best = fit.recover(post, "e", how="most probable")["posterior"]["e"].squeeze()
    lower = 0.3 * np.tril(np.ones((n, n)))
    np.testing.assert_allclose(best, lower.T @ np.linalg.solve(whole, seen - mean), rtol=1e-9)


def test_products_along_a_dim_are_not_affine():
    t = dt.Dim("t", length=3)
    a, e = dt.rv("a", dist.Normal(0.0, 1.0)), dt.rv("e", dist.Normal(0.0, 1.0), dims=t)
    y = dt.rv("y", dist.Normal(a + e.cumprod(t), 0.5))
    fit = dt.Model(y, backend="python").observe(y=[0.0, 1.0, 2.0]).marginalize(e, a)
    with pytest.raises(dt.GraphError, match=r"mean affine in it(.|\n)*cumprod"):
        fit.log_density()
