"""Models as they are fitted in ecology, psychology and economics, beside sums over all states.

Expected values are sums over all values of what is summed out, written with NumPy and SciPy.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from scipy.special import expit, logsumexp, softmax

import dimtensor as dt
from dimtensor import dist


def draw_of(**arrays):
    """A posterior of one draw, of values with the names of their dims."""
    pairs = {name: x if isinstance(x, tuple) else ((), x) for name, x in arrays.items()}
    return xr.Dataset(
        {
            name: (("chain", "draw", *dims), np.asarray(x)[None, None])
            for name, (dims, x) in pairs.items()
        }
    )


class Paths:
    """Log densities of all paths of states."""

    def __init__(self, length, states, logp):
        self.paths = np.array(list(itertools.product(range(states), repeat=length)))
        with np.errstate(divide="ignore"):
            self.logs = np.array([logp(path) for path in self.paths])
        self.total = logsumexp(self.logs)

    def chances(self, state):
        """The probability of a state at each position."""
        return np.exp(self.logs - self.total) @ (self.paths == state)

    @property
    def best(self):
        return self.paths[self.logs.argmax()]


def only(x, *dims):
    return x.isel(chain=0, draw=0).transpose(*dims).values


def log_likelihood(fit, post, name="y", **options):
    return fit.log_likelihood(post, **options)["log_likelihood"][name]


def test_survival_of_marked_birds():
    """Cormack, Jolly and Seber: birds that are released in different years, with a covariate."""
    rng = np.random.default_rng(1)
    first, years, wing = np.array([0, 0, 1, 2, 3]), 5, rng.normal(size=5)
    bird, year = dt.Dim("bird"), dt.Dim("year", coords=np.arange(2000, 2000 + years))
    state = dt.Dim("state", coords=["alive", "dead"])
    after = state.rename("after")
    low, slope = dt.rv("low", dist.Normal(0, 1.5)), dt.rv("slope", dist.Normal(0, 1))
    p = dt.rv("p", dist.Beta(1, 1), dims=year)
    marked = dt.tensor("first", dims=bird, dtype="int64")
    survives = dt.sigmoid(low + slope * dt.tensor("wing", dims=bird))
    lives, will = dt.arange(state) == 0, dt.arange(after) == 0
    move = dt.where(lives, dt.where(will, survives, 1 - survives), dt.where(will, 0.0, 1.0))
    move = dt.where(dt.arange(year) <= marked, dt.where(lives == will, 1.0, 0.0), move)
    z = dt.rv("z", dist.MarkovChain(dt.data([1.0, 0.0], dims=state), move, dim=year))
    seen = dt.data([1.0, 0.0], dims=state).sel(state=z) * p
    seen = dt.where(dt.arange(year) < marked, 0.0, dt.where(dt.arange(year) == marked, 1.0, seen))
    y = dt.rv("y", dist.Bernoulli(seen))
    model = dt.Model(y, data={"first": first, "wing": wing}, backend="python")
    values = np.where(np.arange(years) > first[:, None], rng.random((5, years)) < 0.5, 0)
    values[np.arange(5), first] = 1
    fit = model.observe({y: (("bird", "year"), values)}).marginalize(z)
    chances, alive = rng.uniform(0.2, 0.8, years), expit(0.4 + 0.3 * wing)

    def logp(i):
        def of(path):
            found = 0.0 if not path[: first[i] + 1].any() else -np.inf
            for t in range(first[i] + 1, years):
                stays = (1 - path[t - 1]) * alive[i]
                found += np.log(1 - stays if path[t] else stays)
                rate = (1 - path[t]) * chances[t]
                found += np.log(rate if values[i, t] else 1 - rate)
            return found

        return of

    birds = [Paths(years, 2, logp(i)) for i in range(5)]
    post = draw_of(low=0.4, slope=0.3, p=(("year",), chances))
    each = log_likelihood(fit, post, grouped=True)
    np.testing.assert_allclose(only(each, "bird"), [b.total for b in birds], rtol=1e-10)
    ahead = log_likelihood(fit, post, one_step_ahead=True)
    np.testing.assert_allclose(only(ahead.sum("year"), "bird"), only(each, "bird"), rtol=1e-10)
    found = fit.recover(post, how="probabilities")["posterior"]["z_probability"]
    expected = [b.chances(0) for b in birds]
    found = only(found.sel(state="alive"), "bird", "year")
    np.testing.assert_allclose(found, expected, atol=1e-12)
    best = only(fit.recover(post, how="most probable")["posterior"]["z"], "bird", "year")
    assert ((best == "dead") == [b.best for b in birds]).all()


def test_sites_that_are_colonized_and_left():
    """Occupancy over years, with visits of which some were not made."""
    rng = np.random.default_rng(2)
    sites, years, visits = 3, 4, 3
    site, year, visit = dt.Dim("site"), dt.Dim("year", length=years), dt.Dim("visit", length=visits)
    use = dt.Dim("use", coords=["empty", "used"])
    forest, warm = rng.normal(size=sites), rng.normal(size=(sites, years))
    first, gain, loss = (dt.rv(name, dist.Normal(0, 1)) for name in ("first", "gain", "loss"))
    p = dt.rv("p", dist.Beta(1, 1))
    start = dt.sigmoid(first + dt.data(forest, dims=site, name="forest"))
    gained = dt.sigmoid(gain + dt.data(warm, dims=[site, year], name="warm"))
    used = dt.where(dt.arange(use) == 0, gained, 1 - dt.sigmoid(loss))
    move = dt.stack([1 - used, used], use.rename("after"))
    z = dt.rv("z", dist.MarkovChain(dt.stack([1 - start, start], use), move, dim=year))
    there = dt.data([0.0, 1.0], dims=use).sel(use=z)
    y = dt.rv("y", dist.Bernoulli(there * p), dims=visit)
    values = (rng.random((sites, years, visits)) < 0.3).astype(float)
    values[0, 1], values[2, 3, 1] = np.nan, np.nan
    fit = dt.Model(y, backend="python").observe(
        {y: (("site", "year", "visit"), values)}, missing="drop"
    )
    fit = fit.marginalize(z)
    assert fit.elimination_order == "z: a loop along year, site × year (4) × 2 × 2"

    def logp(i):
        def of(path):
            begin, grows = expit(0.2 + forest[i]), expit(0.1 + warm[i])
            found = np.log(begin if path[0] else 1 - begin)
            for t in range(1, years):
                on = 1 - expit(-0.5) if path[t - 1] else grows[t]
                found += np.log(on if path[t] else 1 - on)
            on = np.broadcast_to(0.35 * path[:, None], (years, visits))
            known = ~np.isnan(values[i])
            return found + np.log(np.where(values[i] == 1, on, 1 - on)[known]).sum()

        return of

    found = [Paths(years, 2, logp(i)) for i in range(sites)]
    post = draw_of(first=0.2, gain=0.1, loss=-0.5, p=0.35)
    each = log_likelihood(fit, post, grouped=True)
    np.testing.assert_allclose(only(each, "site"), [x.total for x in found], rtol=1e-10)
    chances = fit.recover(post, how="probabilities")["posterior"]["z_probability"]
    chances = only(chances.sel(use="used"), "site", "year")
    np.testing.assert_allclose(chances, [x.chances(1) for x in found], atol=1e-12)
    best = only(fit.recover(post, how="most probable")["posterior"]["z"], "site", "year")
    assert ((best == "used") == [x.best for x in found]).all()
    with pytest.raises(dt.DimError, match=r"'visit' has the length 3, not 7(.|\n)*wider dim"):
        fit.predict(fit.recover(post, seed=1), dims={visit: 7}, seed=1)
    more = {visit: dt.Dim("visit", length=7)}
    wider = fit.predict(fit.recover(post, seed=1), dims=more, seed=1)["predictions"]["y"]
    assert wider.sizes["visit"] == 7


def test_animals_whose_moves_depend_on_the_hour():
    """A hidden Markov model of two variables, with covariates in the transitions."""
    rng = np.random.default_rng(3)
    n, states = 4, 3
    animal, step = dt.Dim("animal", coords=["fox", "owl"]), dt.Dim("step", length=n)
    s = dt.Dim("state", coords=["rest", "forage", "travel"])
    to, hour = s.rename("to"), rng.normal(size=(2, n))
    base, slope = (dt.rv(name, dist.Normal(0, 1), dims=[s, to]) for name in ("base", "slope"))
    move = dt.softmax(base + slope * dt.data(hour, dims=[animal, step], name="hour"), to)
    size = dt.rv("size", dist.ordered(dist.LogNormal(0, 1), dim=s))
    turn = dt.rv("turn", dist.HalfNormal(2), dims=s)
    z = dt.rv("z", dist.MarkovChain(dt.data(np.ones(3) / 3, dims=s), move, dim=step))
    length = dt.rv("length", dist.Gamma(size.sel(state=z), 1.0))
    angle = dt.rv("angle", dist.VonMises(0.0, turn.sel(state=z)))
    lengths, angles = rng.gamma(2, 1, (2, n)), rng.vonmises(0, 1, (2, n))
    angles[1, 2], lengths[1, 3] = np.nan, np.nan
    dims = ("animal", "step")
    fit = dt.Model(length, angle, backend="python").observe(
        {length: (dims, lengths), angle: (dims, angles)}, missing="drop"
    )
    fit = fit.marginalize(z)
    b, c = rng.normal(size=(2, 3, 3))
    sizes, turns = np.array([0.5, 1.2, 3.0]), np.array([0.3, 1.0, 2.0])

    def logp(i):
        def of(path):
            each = (
                stats.gamma.logpdf(lengths[i], sizes[path]),
                stats.vonmises.logpdf(angles[i], turns[path]),
            )
            found = np.log(1 / 3) + np.nansum(each)
            for t in range(1, n):
                chances = softmax(b[path[t - 1]] + c[path[t - 1]] * hour[i, t])
                found += np.log(chances[path[t]])
            return found

        return of

    found = [Paths(n, states, logp(i)) for i in range(2)]
    pair = ("state", "to")
    post = draw_of(
        base=(pair, b), slope=(pair, c), size=(("state",), sizes), turn=(("state",), turns)
    )
    each = log_likelihood(fit, post, "angle and length", grouped=True)
    np.testing.assert_allclose(only(each, "animal"), [x.total for x in found], rtol=1e-10)
    chances = fit.recover(post, how="probabilities")["posterior"]["z_probability"]
    expected = np.array([[x.chances(k) for k in range(states)] for x in found])
    np.testing.assert_allclose(only(chances, "animal", "state", "step"), expected, atol=1e-12)
    with pytest.raises(dt.GraphError, match=r"depends on 'angle', 'length' together(.|\n)*grouped"):
        fit.log_likelihood(post)
    with pytest.raises(dt.OptionError, match="one step ahead are in no groups"):
        fit.log_likelihood(post, grouped=True, one_step_ahead=True)


def test_two_changes_one_after_the_other():
    """The second change is bounded by the first one, so its values are known from those."""
    n, rates = 8, np.array([2.0, 5.0, 1.2])
    year, era = dt.Dim("year", coords=np.arange(1990, 1990 + n)), dt.Dim("era", coords=list("abc"))
    rate = dt.rv("rate", dist.Exponential(0.2), dims=era)
    one = dt.rv("one", dist.DiscreteUniform(1, n - 2))
    two = dt.rv("two", dist.DiscreteUniform(one + 1, n - 1))
    at = dt.arange(year)
    of = dt.where(at < two, rate.sel(era="b"), rate.sel(era="c"))
    y = dt.rv("y", dist.Poisson(dt.where(at < one, rate.sel(era="a"), of)))
    values = np.array([2, 1, 6, 7, 5, 1, 0, 2])
    fit = dt.Model(y, backend="python").observe({y: values}).marginalize(one, two)
    logs = np.full((n, n), -np.inf)
    for a in range(1, n - 1):
        for b in range(a + 1, n):
            mean = rates[(np.arange(n) >= a).astype(int) + (np.arange(n) >= b)]
            logs[a, b] = stats.poisson.logpmf(values, mean).sum() - np.log((n - 2) * (n - 1 - a))
    assert float(fit.logp({"rate": rates})["y"]) == pytest.approx(logsumexp(logs), rel=1e-11)
    post = fit.recover(draw_of(rate=(("era",), rates)), how="probabilities")["posterior"]
    assert post["two_state"].values.tolist() == list(range(2, n))
    expected = np.exp(logsumexp(logs, axis=0) - logsumexp(logs))[2:]
    np.testing.assert_allclose(only(post["two_probability"], "two_state"), expected, atol=1e-12)
    known = dt.Dim("k", length=2)
    shift = dt.rv("shift", dist.DiscreteUniform(0, 2), dims=known)
    last = dt.rv("last", dist.DiscreteUniform(0, shift.isel(k=0) + shift.isel(k=1)))
    x = dt.rv("x", dist.Poisson(last + 1.0))
    with pytest.raises(dt.OptionError, match="the possible values of 'last' are unknown"):
        dt.Model(x, backend="python").observe({x: 2}).marginalize(shift, last)


def test_counts_of_animals_that_were_missed():
    """Site by site a number of animals, of which each visit counts some."""
    rng = np.random.default_rng(6)
    site, visit = dt.Dim("site", length=3), dt.Dim("visit", length=3)
    forest, wind = rng.normal(size=3), rng.normal(size=(3, 3))
    a, b = dt.rv("a", dist.Normal(0, 1)), dt.rv("b", dist.Normal(0, 1))
    n = dt.rv("n", dist.Poisson(dt.exp(a + dt.data(forest, dims=site, name="forest"))))
    p = dt.sigmoid(b + dt.data(wind, dims=[site, visit], name="wind"))
    y = dt.rv("y", dist.Binomial(n, p))
    values = rng.binomial(4, 0.4, (3, 3)).astype(float)
    values[1, 2] = np.nan
    fit = dt.Model(y, backend="python").observe({y: (("site", "visit"), values)}, missing="drop")
    with pytest.raises(dt.OptionError, match=r"possible values of 'n' are unknown(.|\n)*states="):
        fit.marginalize(n)
    fit = fit.marginalize(n, states={n: range(50)})
    counts, chance = np.arange(50), expit(-0.1 + wind)
    logs = np.array([
        stats.poisson.logpmf(counts, np.exp(0.9 + forest[i]))
        + np.nansum(stats.binom.logpmf(values[i][:, None], counts, chance[i][:, None]), axis=0)
        for i in range(3)
    ])  # fmt: skip
    post = draw_of(a=0.9, b=-0.1)
    each = log_likelihood(fit, post, grouped=True)
    np.testing.assert_allclose(only(each, "site"), logsumexp(logs, axis=1), rtol=1e-9)
    found = fit.recover(post, how="probabilities")["posterior"]["n_probability"]
    expected = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    np.testing.assert_allclose(only(found, "site", "n_state"), expected, atol=1e-10)


def test_skills_that_items_ask_for():
    """A cognitive diagnosis: an item is solved with all of its skills, or guessed."""
    rng = np.random.default_rng(8)
    person, item = dt.Dim("person"), dt.Dim("item", length=4)
    skill = dt.Dim("skill", coords=["add", "subtract", "divide"])
    asked = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 1], [1, 0, 1]], bool)
    share = dt.rv("share", dist.Beta(1, 1), dims=skill)
    slip, guess = (dt.rv(name, dist.Beta(1, 5), dims=item) for name in ("slip", "guess"))
    has = dt.rv("has", dist.Bernoulli(share), dims=person)
    able = dt.all(~dt.data(asked, dims=[item, skill], name="asked") | (has == 1), skill)
    y = dt.rv("y", dist.Bernoulli(dt.where(able, 1 - slip, guess)))
    values = rng.integers(0, 2, (3, 4))
    fit = dt.Model(y, backend="python").observe({y: (("person", "item"), values)}).marginalize(has)
    s, wrong, lucky = rng.uniform(0.2, 0.8, 3), rng.uniform(0.1, 0.3, 4), rng.uniform(0.1, 0.3, 4)

    def logp(i):
        def of(mine):
            chance = np.where((~asked | (mine == 1)).all(1), 1 - wrong, lucky)
            return (
                stats.bernoulli.logpmf(mine, s).sum()
                + stats.bernoulli.logpmf(values[i], chance).sum()
            )

        return of

    found = [Paths(3, 2, logp(i)) for i in range(3)]
    post = draw_of(share=(("skill",), s), slip=(("item",), wrong), guess=(("item",), lucky))
    each = log_likelihood(fit, post, grouped=True)
    np.testing.assert_allclose(only(each, "person"), [x.total for x in found], rtol=1e-10)
    chances = fit.recover(post, how="probabilities")["posterior"]["has_probability"]
    chances = only(chances.sel(has_state=1), "person", "skill")
    np.testing.assert_allclose(chances, [x.chances(1) for x in found], atol=1e-12)


def test_annotators_who_confuse_classes():
    """Dawid and Skene: ratings in a table, by item and annotator, each with a label."""
    rng = np.random.default_rng(9)
    labels = np.array(["cat", "dog", "cow"])
    item, rating = dt.Dim("item", length=4), dt.Dim("rating")
    annotator, kind = dt.Dim("annotator", coords=["x", "y"]), dt.Dim("class", coords=labels)
    said = kind.rename("said")
    of, by, answer = rng.integers(0, 4, 9), rng.integers(0, 2, 9), rng.integers(0, 3, 9)
    item_of = dt.data(of, dims=rating, categories=item, name="item_of")
    who = dt.data(np.array(["x", "y"])[by], dims=rating, categories=annotator, name="who")
    share = dt.rv("share", dist.Dirichlet(dt.ones(kind), dim=kind))
    confusion = dist.Dirichlet(dt.ones(said), dim=said)
    says = dt.rv("says", confusion, dims=[annotator, kind])
    z = dt.rv("z", dist.Categorical(share, dim=kind), dims=item)
    chance = says.sel({annotator: who, kind: z.sel(item=item_of)})
    label = dt.rv("label", dist.Categorical(chance, dim=said))
    fit = dt.Model(label, backend="python").observe({label: labels[answer]}).marginalize(z)
    shares, table = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), size=(2, 3))
    logs = np.array([
        np.log(shares) + np.log(table[by, :, answer])[of == i].sum(0) for i in range(4)
    ])  # fmt: skip
    post = draw_of(share=(("class",), shares), says=(("annotator", "class", "said"), table))
    each = log_likelihood(fit, post, "label", grouped=True)
    np.testing.assert_allclose(only(each, "item"), logsumexp(logs, axis=1), rtol=1e-11)
    chances = fit.recover(post, how="probabilities")["posterior"]["z_probability"]
    expected = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    np.testing.assert_allclose(only(chances, "item", "class"), expected, atol=1e-12)
    again = fit.predict(fit.recover(post, seed=1), seed=2)["posterior_predictive"]["label"]
    assert set(again.values.ravel()) <= set(labels)


def structural():
    """A level, and seasons of four quarters that sum to nearly zero; some values are missing."""
    n = 9
    t = dt.Dim("t", length=n)
    lag = dt.Dim("quarter before", length=3)
    level_sd, season_sd, noise = (dt.rv(x, dist.HalfNormal(1)) for x in ("a", "b", "c"))
    start = dist.Normal(0, 5)
    level = dt.rv("level", dist.GaussianRandomWalk(0.0, level_sd, dim=t, start=start))
    season = dist.AR(dt.data([-1.0] * 3, dims=lag), season_sd, dim=t, start=dist.Normal(0, 1))
    season = dt.rv("season", season)
    y = dt.rv("y", dist.Normal(level + season, noise))
    values = np.random.default_rng(7).normal(size=n)
    values[[2, 6]] = np.nan
    fit = dt.Model(y, backend="python").observe({y: values}, missing="drop")
    fit = fit.marginalize(level, season)
    # covariances of levels, whose steps are 0.4, and of seasons, whose steps are 0.3
    level = 25.0 + 0.16 * np.minimum.outer(np.arange(n), np.arange(n))
    back = np.linalg.inv(np.eye(n) + sum(np.diag((np.arange(n) >= 3)[k:], -k) for k in (1, 2, 3)))
    season = back @ np.diag(np.where(np.arange(n) < 3, 1.0, 0.09)) @ back.T
    return fit, t, values, level, season, ~np.isnan(values)


def test_levels_and_seasons():
    fit, _, values, level, season, there = structural()
    n = values.size
    whole = (level + season + 0.25 * np.eye(n))[np.ix_(there, there)]
    root = np.linalg.cholesky(whole)
    white = np.linalg.solve(root, values[there])
    expected = -0.5 * white**2 - np.log(np.diag(root)) - 0.5 * np.log(2 * np.pi)
    post = draw_of(a=0.4, b=0.3, c=0.5)
    ahead = log_likelihood(fit, post, one_step_ahead=True)
    np.testing.assert_allclose(only(ahead, "t"), expected, rtol=1e-9)
    total = float(fit.logp({"a": 0.4, "b": 0.3, "c": 0.5})["y"])
    assert total == pytest.approx(expected.sum(), rel=1e-10)


@pytest.mark.slow
def test_levels_and_seasons_are_recovered_and_go_on():
    fit, t, values, level, season, there = structural()
    n, post = values.size, draw_of(a=0.4, b=0.3, c=0.5)
    whole = (level + season + 0.25 * np.eye(n))[np.ix_(there, there)]
    best = fit.recover(post, how="most probable")["posterior"]
    for name, prior in (("level", level), ("season", season)):
        mean = prior[:, there] @ np.linalg.solve(whole, values[there])
        np.testing.assert_allclose(only(best[name], "t"), mean, atol=1e-10)
    later = dt.Dim("t", length=n + 3)
    on = fit.predict(fit.recover(post, seed=1), dims={t: later}, names=["level", "season"], seed=1)
    assert np.isfinite(on["predictions"]["season"]).all()
    assert on["predictions"]["level"].sizes["t"] == n + 3


@pytest.mark.parametrize("named", [False, True])
def test_forecasts_go_on_from_the_level_that_was_summed_out(named):
    """The level ends far from where it started, and its start is hardly known."""
    n, k = 8, 3
    t = dt.Dim("t") if named else dt.Dim("t", length=n)
    step = dt.rv("step", dist.HalfNormal(1))
    walk = dist.GaussianRandomWalk(0.0, step, dim=t, start=dist.Normal(0, 50))
    level = dt.rv("level", walk)
    y = dt.rv("y", dist.Normal(level, 0.5))
    values = 60.0 + np.arange(n)
    fit = dt.Model(y, backend="python").observe({y: values}).marginalize(level)
    post = draw_of(step=0.4).isel(draw=np.zeros(3000, int)).assign_coords(draw=np.arange(3000))
    later = dt.Dim("t", length=n + k)
    new = fit.predict(post, dims={t: later}, names=["level", "y"], seed=1)["predictions"]
    # levels are jointly normal with what is observed
    cov = 2500.0 + 0.16 * np.minimum.outer(np.arange(n + k), np.arange(n + k))
    gain = cov[:, :n] @ np.linalg.inv(cov[:n, :n] + 0.25 * np.eye(n))
    mean, left = gain @ values, cov - gain @ cov[:n]
    for name, sd in (("level", np.sqrt(np.diag(left))), ("y", np.sqrt(np.diag(left) + 0.25))):
        found = new[name].isel(chain=0)
        np.testing.assert_allclose(found.std("draw"), sd, rtol=0.06)
        assert (abs(found.mean("draw") - mean) < 5 * sd / np.sqrt(3000)).all()


def test_one_seed_gives_each_step_noise_of_its_own():
    """A normal mean and level, drawn, recovered and predicted: variances add up."""
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    z = dt.rv("z", dist.Normal(mu, 1.0))
    y = dt.rv("y", dist.Normal(z, 1.0))
    model = dt.Model(y, backend="python")
    fit = model.observe(y=1.0).marginalize("z")
    # covariances of mu, z and what is observed
    joint = np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 2.0], [1.0, 2.0, 3.0]])
    given = joint[:2, :2] - np.outer(joint[:2, 2], joint[2, :2]) / 3
    post = fit.recover(fit.laplace(1500, seed=1), seed=1)
    drawn = post["posterior"].to_dataset().isel(chain=0)
    np.testing.assert_allclose(np.cov(drawn["mu"], drawn["z"]), given, rtol=0.15)
    new = fit.predict(post, seed=1)["posterior_predictive"]["y"]
    np.testing.assert_allclose(new.var(), given[1, 1] + 1, rtol=0.15)
    prior = model.draw(20_000, seed=1)["prior"].to_dataset()
    again = model.predict(prior, seed=1)["posterior_predictive"]["y"]
    np.testing.assert_allclose(again.var(), 3.0, rtol=0.05)


def regressions(backend="python"):
    """A regression of each person, of one of two classes."""
    rng = np.random.default_rng(5)
    who = np.array(["ann", "ann", "bob", "cy", "cy", "cy", "bob", "ann", "bob"])
    x, values = rng.normal(size=9), rng.normal(size=9)
    person, row = dt.Dim("person", coords=["ann", "bob", "cy"]), dt.Dim("row")
    kind = dt.Dim("class", coords=["slow", "fast"])
    of, time = dt.tensor("who", dims=row, categories=person), dt.tensor("time", dims=row)
    a = dt.rv("a", dist.Normal(0, 1))
    z = dt.rv("z", dist.Categorical(dt.data([0.3, 0.7], dims=kind), dim=kind), dims=person)
    slope = dt.data([-1.0, 1.0], dims=kind).sel({kind: z.sel(person=of)})
    y = dt.rv("y", dist.Normal(a + slope * time, 1.0))
    fit = dt.Model(y, data={of: who, time: x}, backend=backend).observe({y: values}).marginalize(z)

    def logp(name, at):
        mine = who == name
        logs = [
            np.log(weight) + stats.norm.logpdf(values[mine], at + by * x[mine]).sum()
            for weight, by in ((0.3, -1.0), (0.7, 1.0))
        ]
        return logsumexp(logs)

    return fit, of, row, logp


def test_predictions_of_groups_that_were_summed_out():
    fit, of, _, logp = regressions()
    post = draw_of(a=0.2)
    each = log_likelihood(fit, post, grouped=True)
    expected = [logp(name, 0.2) for name in ("ann", "bob", "cy")]
    np.testing.assert_allclose(only(each, "person"), expected, rtol=1e-11)
    data = {of: ["bob", "cy"], "time": [0.0, 100.0]}
    many = post.isel(draw=np.zeros(200, int)).assign_coords(draw=np.arange(200))
    shares = fit.recover(post, how="probabilities")["posterior"]["z_probability"]
    chance = float(shares.sel(person="cy", **{"class": "fast"}).squeeze())
    for draws in (many, fit.recover(many, seed=1)):
        new = fit.predict(draws, data, seed=1)["predictions"]["y"]
        fast = (new.isel(row=1) > 0).mean()
        assert abs(float(fast) - chance) < 5 * np.sqrt(chance * (1 - chance) / 200)
    with pytest.raises(dt.InputError, match="'z' cannot be recovered: the draws lack 'a'"):
        fit.predict(many.drop_vars("a").assign(b=many["a"]), data, seed=1)
    wider = dt.Dim("person", coords=["ann", "bob", "cy", "dee"])
    found = fit.predict(
        fit.recover(post, seed=1), {of: ["dee"], "time": [0.0]}, dims={of.categories: wider}, seed=1
    )
    assert found["predictions"]["y"].sizes["row"] == 1


def test_draws_of_other_elements_than_those_of_new_data():
    word, topic = dt.Dim("word"), dt.Dim("topic", length=2)
    doc = dt.Dim("doc", length=2)
    of = dt.data([0, 1, 1], dims=word, categories=doc, name="of")
    theta = dt.rv("theta", dist.Dirichlet(dt.ones(topic), dim=topic), dims=doc)
    z = dt.rv("z", dist.Categorical(theta.sel(doc=of), dim=topic))
    x = dt.rv("x", dist.Normal(dt.data([0.0, 9.0], dims=topic).sel(topic=z), 1.0))
    fit = dt.Model(x, backend="python").observe({x: [0.1, 9.0, 1.0]}).marginalize(z)
    post = draw_of(theta=(("doc", "topic"), np.full((2, 2), 0.5)))
    data = {of: [0, 0, 1, 1, 1]}
    assert fit.predict(post, data, seed=1)["predictions"]["x"].sizes["word"] == 5
    with pytest.raises(dt.DimError, match=r"'z' has 3 elements along 'word' in the draws(.|\n)*5"):
        fit.predict(fit.recover(post, seed=1), data, seed=1)


@pytest.mark.slow
def test_groups_that_are_left_out():
    """Beside the integral over the only parameter that is left, on a grid."""
    fit, of, _, logp = regressions("numba")
    names, at = ["ann", "bob", "cy"], np.linspace(-6.0, 6.0, 2001)
    each = np.array([[logp(name, a) for a in at] for name in names])
    found = dt.cross_validate(fit, of, folds=3, seed=1, draws=1000, tune=300, processes=1)
    assert found.pointwise["y"].dims == ("person",)
    assert (found.folds >= 0).all()
    for k, name in enumerate(names):
        rest = stats.norm.logpdf(at) + each.sum(0) - each[k]
        expected = logsumexp(rest + each[k]) - logsumexp(rest)
        assert float(found.pointwise["y"].sel(person=name)) == pytest.approx(expected, abs=0.08)


@pytest.mark.slow
def test_observations_of_groups_that_are_left_out_one_by_one():
    """Each given those that are known, which tell the class of its person."""
    fit, _, row, _ = regressions("numba")
    who, x, y = fit.data["who"].values, fit.data["time"].values, fit.observed["y"].values
    at = np.linspace(-6.0, 6.0, 2001)

    def joint(rows):
        total = np.zeros(len(at))
        for name in ("ann", "bob", "cy"):
            mine = [r for r in rows if who[r] == name]
            logs = [
                np.log(weight) + stats.norm.logpdf(y[mine], at[:, None] + by * x[mine]).sum(axis=1)
                for weight, by in ((0.3, -1.0), (0.7, 1.0))
            ]
            total += logsumexp(logs, axis=0)
        return total

    found = dt.cross_validate(fit, row, folds=3, seed=1, draws=1000, tune=300, processes=1)
    assert found.pointwise["y"].dims == ("row",)
    for r in range(9):
        known = [k for k in range(9) if found.folds[k] != found.folds[r]]
        before = stats.norm.logpdf(at) + joint(known)
        expected = logsumexp(stats.norm.logpdf(at) + joint([*known, r])) - logsumexp(before)
        assert float(found.pointwise["y"][r]) == pytest.approx(expected, abs=0.08)


@pytest.mark.parametrize("known", [True, False], ids=["known", "late"])
def test_a_chain_of_no_elements_is_summed_out(known):
    time = dt.Dim("time", length=0) if known else dt.Dim("time")
    kind = dt.Dim("kind", coords=["a", "b", "c"])
    move = dt.data(np.full((3, 3), 1 / 3), dims=[kind, kind.rename("to")])
    z = dt.rv("z", dist.MarkovChain(dt.data([0.2, 0.3, 0.5], dims=kind), move, dim=time))
    level = dt.rv("level", dist.Normal(0.0, 1.0), dims=kind)
    y = dt.rv("y", dist.Normal(level.sel(kind=z), 1.0))
    fit = dt.Model(y, backend="python").observe({y: np.zeros(0)}).marginalize(z).log_density()
    value, slope = fit.logp_and_grad(np.array([0.1, 0.2, 0.3]))
    assert value == pytest.approx(stats.norm.logpdf([0.1, 0.2, 0.3]).sum(), rel=1e-12)
    np.testing.assert_allclose(slope, [-0.1, -0.2, -0.3], rtol=1e-12)
