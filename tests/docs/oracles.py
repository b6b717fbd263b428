"""Posteriors of the gallery without dimtensor: by sums over grids, or the maximum by SciPy.

Each function reads the data of a page and has its model, written out in NumPy.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy import optimize, special, stats
from scipy.integrate import odeint

DATA = Path(__file__).parents[2] / "dimtensor" / "datasets"


def means(log_weights: np.ndarray, *grids: np.ndarray) -> list[float]:
    """Means of values on a grid, by logarithms of weights."""
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    return [float((weights * grid).sum()) for grid in grids]


def middles(low: float, high: float, number: int) -> np.ndarray:
    """The middles of so many equal parts of an interval."""
    return low + (high - low) * (np.arange(number) + 0.5) / number


def hospitals() -> list[float]:
    """Rates: given center and spread the effects of hospitals are independent, in one dim each."""
    table = pd.read_csv(DATA / "surgical.csv")
    center, spread = np.meshgrid(middles(-4.0, -1.2, 60), middles(0.0, 2.4, 80), indexing="ij")
    effect = middles(-7.0, 1.0, 400)
    log_weights = stats.norm.logpdf(center, -2.5, 1.0) + stats.norm.logpdf(spread)
    among = stats.norm.pdf(effect, center[..., None], spread[..., None])
    rate, rates = special.expit(effect), []
    for n, k in zip(table["operations"], table["deaths"], strict=True):
        likely = among * stats.binom.pmf(k, n, rate)
        total = likely.sum(-1)
        log_weights += np.log(total)
        rates.append(likely @ rate / total)
    return means(log_weights, *rates)


def rats() -> list[float]:
    """Means and spreads of levels and slopes, and the noise.

    Ages around 22 days sum to zero: levels, slopes and residuals of each rat by least squares are
    independent and say all about the model, where the noise is given.
    """
    table = pd.read_csv(DATA / "rats.csv", index_col="rat").to_numpy(float)
    age = np.array([-14.0, -7.0, 0.0, 7.0, 14.0])
    slope, level = table @ age / (age @ age), table.mean(1)
    residual = table - level[:, None] - slope[:, None] * age
    noise = middles(4.0, 9.0, 50)
    squares, free = (residual**2).sum(), len(table) * (len(age) - 2)
    log_weights = -free * np.log(noise) - squares / (2 * noise**2) + stats.norm.logpdf(noise / 20.0)

    def line(found, mu, spread, own):
        """Log weights by noise; means of the mean and of the spread, given the noise."""
        mu, spread, own = mu[:, None, None], spread[None, :, None], noise**2 / own
        scale = np.sqrt(spread**2 + own)
        n, around = len(found), (found**2).sum() - 2 * mu * found.sum() + len(found) * mu**2
        return -n * np.log(scale) - around / (2 * scale**2), mu, spread

    levels, mu, spread = line(level, middles(225.0, 260.0, 70), middles(5.0, 30.0, 70), len(age))
    levels = levels + stats.norm.logpdf(mu, 240.0, 50.0) + stats.norm.logpdf(spread / 30.0)
    slopes, rate, differ = line(slope, middles(5.6, 6.8, 60), middles(0.0, 1.2, 60), age @ age)
    slopes = slopes + stats.norm.logpdf(rate, 6.0, 3.0) + stats.norm.logpdf(differ / 2.0)
    of_levels, of_slopes = (special.logsumexp(x, axis=(0, 1)) for x in (levels, slopes))
    found = means(levels + log_weights + of_slopes, mu, spread)
    found += means(slopes + log_weights + of_levels, rate, differ)
    return found + means(log_weights + of_levels + of_slopes, noise)


def dugongs() -> list[float]:
    """Full length, gap, shrinkage and noise, by a grid of all four."""
    table = pd.read_csv(DATA / "dugongs.csv")
    age, length = table["age"].to_numpy(), table["length"].to_numpy()
    axes = (
        middles(2.4, 3.1, 70),
        middles(0.7, 1.3, 50),
        middles(0.75, 0.97, 60),
        middles(0.06, 0.17, 40),
    )
    full, gap, shrink, noise = np.meshgrid(*axes, indexing="ij", sparse=True)
    squares = np.zeros(np.broadcast_shapes(full.shape, gap.shape, shrink.shape))
    for x, y in zip(age, length, strict=True):
        squares = squares + (y - full + gap * shrink**x) ** 2
    log_weights = -len(age) * np.log(noise) - squares / (2 * noise**2)
    log_weights = log_weights + stats.norm.logpdf(full, 2.5, 1.0)
    log_weights = log_weights + stats.norm.logpdf(gap / 2.0) + stats.norm.logpdf(noise / 0.5)
    return means(log_weights, full, gap, shrink, noise)


def dippers() -> list[float]:
    """Survival in floods and in usual years, and the probability to be seen."""
    table = pd.read_csv(DATA / "dippers.csv")
    grids = np.meshgrid(*[middles(0.25, 0.99, 74)] * 3, indexing="ij", sparse=True)
    flood, usual, sight = grids
    log_weights = np.zeros(np.broadcast_shapes(*(grid.shape for grid in grids)))
    for released, rows in table.groupby("released"):
        missed = 1.0  # alive, and not seen since
        never = 1.0
        for year in range(released + 1, 1988):
            lives = flood if year in (1983, 1984) else usual
            seen = missed * lives * sight
            missed = missed * lives * (1.0 - sight)
            never = never - seen
            log_weights = log_weights + rows["birds"][rows["next_seen"] == year].sum() * np.log(
                seen
            )
        log_weights = log_weights + rows["birds"][rows["next_seen"].isna()].sum() * np.log(never)
    return means(log_weights, flood, usual, sight)


def belts() -> list[float]:
    """Effects of law and price: normal where drift and noise are given, which are on a grid."""
    table = pd.read_csv(DATA / "uk_drivers.csv")
    y, n = np.log(table["drivers"].to_numpy()), len(table)
    design = np.column_stack([table["belts"], table["log_petrol"]])
    months = np.arange(n) % 12
    # effects of months with a sum of zero: independent ones, minus their mean
    season = 0.2**2 * (np.equal.outer(months, months) - 1 / 12)
    steps = np.minimum.outer(np.arange(n), np.arange(n))  # of the walk, which both have in common
    around = 1.0 + season + design @ design.T
    log_weights, law, price = [], [], []
    for drift in middles(0.0, 0.05, 24):
        for noise in middles(0.03, 0.1, 24):
            scale = around + drift**2 * steps + noise**2 * np.eye(n)
            factor = np.linalg.cholesky(scale)
            z = np.linalg.solve(factor, y - 7.0)
            prior = stats.norm.logpdf(drift / 0.1) + stats.norm.logpdf(noise / 0.2)
            log_weights.append(prior - 0.5 * z @ z - np.log(np.diag(factor)).sum())
            effects = design.T @ np.linalg.solve(factor.T, z)
            law.append(effects[0])
            price.append(effects[1])
    return means(np.array(log_weights), np.array(law), np.array(price))


def eruptions() -> tuple[float, np.ndarray]:
    """The share of short eruptions and means by kind and measure, where the likelihood is highest.

    Found by expectation and maximization of a mixture of two pairs of independent normals.
    """
    table = pd.read_csv(DATA / "old_faithful.csv").to_numpy()
    share, mean = 0.5, np.array([[2.0, 55.0], [4.5, 80.0]])
    spread = np.array([[0.5, 5.0], [0.5, 5.0]])
    for _ in range(200):
        log_p = stats.norm.logpdf(table[:, None], mean, spread).sum(-1)
        short = special.expit(special.logit(share) + log_p[:, 0] - log_p[:, 1])
        chance = np.column_stack([short, 1.0 - short])
        share, total = short.mean(), chance.sum(0)[:, None]
        mean = chance.T @ table / total
        spread = np.sqrt(np.einsum("ik,ikm->km", chance, (table[:, None] - mean) ** 2) / total)
    return float(share), mean


def earthquakes() -> np.ndarray:
    """The rates of three states where the likelihood is highest, by Baum and Welch's algorithm."""
    counts = pd.read_csv(DATA / "earthquakes.csv")["count"].to_numpy()
    rates, move = np.array([12.0, 20.0, 30.0]), np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    n = len(counts)
    for _ in range(500):
        likely = stats.poisson.pmf(counts[:, None], rates)
        forward, back = np.empty((n, 3)), np.ones((n, 3))
        before = np.full(3, 1 / 3)
        for t in range(n):
            forward[t] = before * likely[t]
            forward[t] /= forward[t].sum()
            before = forward[t] @ move
        for t in range(n - 2, -1, -1):
            back[t] = move @ (likely[t + 1] * back[t + 1])
            back[t] /= back[t].sum()
        chance = forward * back
        chance /= chance.sum(1, keepdims=True)
        pairs = forward[:-1, :, None] * move * (likely[1:] * back[1:])[:, None]
        pairs = (pairs / pairs.sum((1, 2), keepdims=True)).sum(0)
        move = pairs / pairs.sum(1, keepdims=True)
        rates = counts @ chance / chance.sum(0)
    return rates


def lynx() -> np.ndarray:
    """Birth, eaten, hunger and food where the density of the parameters' logarithms is highest."""
    table = pd.read_csv(DATA / "lynx_hare.csv")
    seen = np.log(table[["hare", "lynx"]].to_numpy())
    center = np.log([0.5, 0.03, 0.8, 0.03, 10.0, 10.0, np.exp(-1.0), np.exp(-1.0)])
    widths = np.array([0.5, 0.5, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0])

    def change(state, _, birth, eaten, hunger, food):
        hares, lynxes = state
        return hares * (birth - eaten * lynxes), lynxes * (food * hares - hunger)

    def cost(x):
        *rates, hares, lynxes = np.exp(x[:6])
        path = odeint(change, [hares, lynxes], np.arange(len(seen)), tuple(rates), rtol=1e-9)
        errors = stats.norm.logpdf(seen, np.log(path), np.exp(x[6:]))
        return -errors.sum() - stats.norm.logpdf(x, center, widths).sum()

    start = np.log([0.5, 0.025, 0.8, 0.025, 30.0, 5.0, 0.25, 0.25])
    return np.exp(optimize.minimize(cost, start, method="BFGS").x[:4])


def choices() -> list[float]:
    """Cost of hard choices, carry-over and noise: least squares with a level for each session.

    As D. Cochrane and G. H. Orcutt 1949, by turns: deviations are regressed on those before them,
    then the differences that this leaves on the levels and hard choices.
    """
    table = pd.read_csv(DATA / "choices.csv")
    y, hard = np.log(table["rt"].to_numpy()), (table["pair"] != "WL").to_numpy(float)
    levels = pd.get_dummies(table["session"]).to_numpy(float)
    design = np.column_stack([hard, levels])
    first = (table["session"] != table["session"].shift()).to_numpy()

    def lagged(x: np.ndarray) -> np.ndarray:
        before = np.roll(x, 1, axis=0)
        before[first] = 0.0
        return before

    carry = 0.0
    for _ in range(20):
        left = y - carry * lagged(y)
        coefficients = np.linalg.lstsq(design - carry * lagged(design), left, rcond=None)[0]
        deviation = y - design @ coefficients
        before = lagged(deviation)
        carry = float(before @ deviation / (before @ before))
    noise = float(np.std(deviation - carry * before))
    return [float(coefficients[0]), carry, noise]


def stations() -> list[float]:
    """Height and reach of a Gaussian process, and the noise: a grid of dense matrices."""
    table = pd.read_csv(DATA / "stations.csv")
    table = table[np.arange(len(table)) % 5 != 2]
    place, y = table[["east", "north"]].to_numpy(), table["temperature"].to_numpy() - 10.0
    apart = np.sqrt(3.0) * np.hypot(*(place[:, None] - place).T)
    heights, reaches = (
        middles(np.log(2.5), np.log(30.0), 16),
        middles(np.log(120), np.log(2000), 16),
    )
    noises = middles(0.9, 1.8, 12)
    grids = np.meshgrid(np.exp(heights), np.exp(reaches), noises, indexing="ij")
    log_weights = np.empty(grids[0].shape)
    for at, reach in enumerate(np.exp(reaches)):
        # eigenvalues serve all heights and noises; grids of logarithms have their own density
        values, vectors = np.linalg.eigh((1.0 + apart / reach) * np.exp(-apart / reach))
        height, _, noise = (grid[:, at, :, None] for grid in grids)
        variance = height**2 * values + noise**2
        log_weights[:, at] = stats.norm.logpdf(vectors.T @ y, 0.0, np.sqrt(variance)).sum(-1)
    height, reach, noise = grids
    log_weights += stats.halfnorm.logpdf(height, 0.0, 10.0) + np.log(height)
    log_weights += stats.norm.logpdf(np.log(reach), np.log(300.0), 0.5)
    log_weights += stats.halfnorm.logpdf(noise, 0.0, 2.0)
    return means(log_weights, height, reach, noise)


def lsat() -> np.ndarray:
    """Levels and slopes of questions where their density is highest, abilities integrated out.

    By Gauss and Hermite's quadrature over abilities, as R. D. Bock and M. Lieberman 1970.
    """
    table = pd.read_csv(DATA / "lsat.csv")
    right, people = table.filter(like="item").to_numpy(), table["people"].to_numpy()
    ability, weight = np.polynomial.hermite_e.hermegauss(41)
    log_weight = np.log(weight / weight.sum())

    def cost(x):
        easy, log_slope = x[:5], x[5:]
        odds = easy + np.exp(log_slope) * ability[:, None]
        log_p = right @ special.log_expit(odds).T + (1 - right) @ special.log_expit(-odds).T
        prior = stats.norm.logpdf(easy, 0.0, 2.0).sum() + stats.norm.logpdf(log_slope / 0.5).sum()
        return -people @ special.logsumexp(log_p + log_weight, axis=1) - prior

    found = optimize.minimize(cost, np.zeros(10), method="BFGS").x
    return np.array([found[:5], np.exp(found[5:])])


def theophylline() -> np.ndarray:
    """Typical rates and how people differ, by Gibbs' sampler, and the equations in closed form."""
    table = pd.read_csv(DATA / "theophylline.csv")
    dose, time, y = (
        table[name].to_numpy().reshape(12, 11) for name in ("dose", "time", "concentration")
    )
    rng = np.random.default_rng(1)
    center = np.log([1.0, 0.05, 0.5])
    typical, differ, noise = center.copy(), np.full(3, 0.3), 1.0
    own = np.tile(center, (12, 1))

    def squares(own):
        absorption, clearance, volume = np.exp(own).T[..., None]
        out = clearance / volume
        course = np.exp(-out * time) - np.exp(-absorption * time)
        return ((y - dose / volume * absorption / (absorption - out) * course) ** 2).sum(1)

    found, misfit = [], squares(own)
    for step in range(15_000):
        for at in range(3):
            moved = own.copy()
            moved[:, at] += (0.3, 0.1, 0.08)[at] * rng.normal(size=12)
            new = squares(moved)
            z, was = ((x[:, at] - typical[at]) / differ[at] for x in (moved, own))
            better = 0.5 * (misfit - new) / noise**2 + 0.5 * (was**2 - z**2)
            taken = np.log(rng.random(12)) < better
            own, misfit = np.where(taken[:, None], moved, own), np.where(taken, new, misfit)
        precision = 12 / differ**2 + 1 / 0.5**2
        mean = (own.sum(0) / differ**2 + center / 0.5**2) / precision
        typical = rng.normal(mean, precision**-0.5)
        # of logarithms of differ and noise, whose densities have a factor of differ and noise
        moved, total = differ * np.exp(0.3 * rng.normal(size=3)), ((own - typical) ** 2).sum(0)
        better = 0.5 * total * (differ**-2 - moved**-2) + 11 * np.log(differ / moved)
        better += (differ**2 - moved**2) / (2 * 0.5**2)
        differ = np.where(np.log(rng.random(3)) < better, moved, differ)
        moved = noise * np.exp(0.1 * rng.normal())
        better = 0.5 * misfit.sum() * (noise**-2 - moved**-2) + 131 * np.log(noise / moved)
        better += (noise**2 - moved**2) / 2
        noise = moved if np.log(rng.random()) < better else noise
        if step >= 2_000:
            found.append([typical, differ])
    return np.mean(found, 0)


def lung() -> list[float]:
    """Shape, level and effects of a Weibull regression where their density is highest."""
    table = pd.read_csv(DATA / "lung.csv")
    days, died = table["days"].to_numpy(), table["died"].to_numpy()
    kinds = ["squamous", "large", "adeno", "small cell"]
    cell = table["cell"].map(kinds.index).to_numpy()
    score = (table["karnofsky"].to_numpy() - 60) / 10
    new = (table["treatment"] == "test").to_numpy()

    def effects(x):
        return np.append(x[2:5], -x[2:5].sum())

    def cost(x):
        shape, kind = np.exp(x[0]), effects(x)
        scale = np.exp(x[1] + kind[cell] + x[5] * score + x[6] * new)
        lives = stats.weibull_min(shape, scale=scale)
        log_p = np.where(died == 1, lives.logpdf(days), lives.logsf(days)).sum()
        log_p -= (kind**2).sum() / (2 * 0.7**2)
        around = np.array([0.0, np.log(100.0), 0.0, 0.0])
        widths = np.array([0.3, 1.0, 0.5, 0.5])
        return -log_p - stats.norm.logpdf(x[[0, 1, 5, 6]], around, widths).sum()

    x = optimize.minimize(cost, [0.0, np.log(100.0), 0, 0, 0, 0, 0], method="BFGS").x
    return [np.exp(x[0]), x[1], *effects(x), x[5], x[6]]


def polls() -> list[float]:
    """Step, extra error, biases of institutes and support at last, by normal distributions.

    Where step and extra error are given, which are on a grid, all else is normal.
    """
    table = pd.read_csv(DATA / "polls.csv", parse_dates=["start", "end"])
    middle = table["start"] + (table["end"] - table["start"]) / 2
    days = (middle - pd.Timestamp("2004-10-09")) / pd.Timedelta(days=1)
    week = np.floor(days.to_numpy() / 7 + 0.5)
    house = pd.get_dummies(table["house"]).to_numpy(float)
    y = table["labor"].to_numpy() - 37.6
    weeks = np.minimum.outer(week, week)
    steps, extra = np.meshgrid(middles(0.3, 1.8, 15), middles(0.0, 2.0, 15), indexing="ij")
    log_weights, found = np.empty(steps.shape), np.empty((*steps.shape, 6))
    for at in np.ndindex(steps.shape):
        step, more = steps[at], extra[at]
        scale = 0.1**2 + step**2 * weeks + 9.0 * house @ house.T
        scale[np.diag_indices(len(y))] += 2400.0 / table["size"].to_numpy() + more**2
        factor = np.linalg.cholesky(scale)
        z = np.linalg.solve(factor, y)
        prior = stats.norm.logpdf(step) + stats.norm.logpdf(more)
        log_weights[at] = prior - 0.5 * z @ z - np.log(np.diag(factor)).sum()
        solved = np.linalg.solve(factor.T, z)
        found[at] = [*(9.0 * house.T @ solved), 37.6 + (0.01 + step**2 * week) @ solved]
    return means(log_weights, steps, extra, *np.moveaxis(found, -1, 0))


def adverts() -> dict[str, float]:
    """Means of all parameters: normal in the line, where the others are given on a grid."""
    table = pd.read_csv(DATA / "insurance.csv")[:36]
    y, new = table["quotes"].to_numpy() - 14.0, table["adverts"].to_numpy() - 8.0
    keeps, persists = middles(0.0, 0.5, 40), middles(0.2, 1.2, 40)
    starts, sigma = middles(2.0, 16.0, 20), middles(0.3, 1.1, 40)
    log_weights = np.empty((len(keeps), len(persists), len(starts), len(sigma)))
    lines = np.empty((*log_weights.shape, 2))
    for k, keep in enumerate(keeps):
        stocks, stock = [], starts - 8.0
        for x in new:
            stock = keep * stock + (1 - keep) * x
            stocks.append(stock)
        for p, persist in enumerate(persists):
            whiten = np.eye(len(y)) - persist * np.eye(len(y), k=-1)
            z, one = whiten @ y, whiten @ np.ones(len(y))
            for b, shown in enumerate((whiten @ np.array(stocks)).T):
                x = np.stack([one, shown])
                inverse = x @ x.T / sigma[:, None, None] ** 2 + np.diag([1 / 9.0, 1 / 4.0])
                slope = (x @ z) / sigma[:, None] ** 2
                line = np.linalg.solve(inverse, slope[..., None])[..., 0]
                lines[k, p, b] = line
                log_weights[k, p, b] = (
                    -len(y) * np.log(sigma)
                    - z @ z / (2 * sigma**2)
                    + 0.5 * (slope * line).sum(-1)
                    - 0.5 * np.linalg.slogdet(inverse)[1]
                )
    grids = np.meshgrid(keeps, persists, starts, sigma, indexing="ij")
    keep, persist, before, sigma = grids
    log_weights += stats.beta.logpdf(keep, 2, 2) + stats.norm.logpdf(persist, 0.0, 0.5)
    log_weights += stats.norm.logpdf(before, 8.0, 2.0) + stats.norm.logpdf(sigma)
    found = means(log_weights, *grids, *np.moveaxis(lines, -1, 0))
    found[4] += 14.0
    names = ["keep", "persist", "before", "sigma", "usual", "worth"]
    return dict(zip(names, found, strict=True))


def switching() -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Where the posterior is highest by SciPy, and the probabilities to think there.

    Forward and backward passes are written out, for one block after another.
    """
    table = pd.read_csv(DATA / "switching.csv")
    log_rt, correct = np.log(table["rt"].to_numpy()), table["correct"].to_numpy()
    payoff, blocks = table["payoff"].to_numpy(), list(table.groupby("block").indices.values())

    def named(x: np.ndarray) -> dict[str, np.ndarray]:
        level, spread, able = x[:2], np.exp(x[2:4]), special.expit(x[4])
        return {"level": level, "spread": spread, "able": able, "lean": x[5:7], "pull": x[7:9]}

    def parts(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p = named(x)
        likely = stats.norm.pdf(log_rt[:, None], p["level"], p["spread"])
        right = np.array([0.5, p["able"]])
        likely *= np.where(correct[:, None] == 1, right, 1 - right)
        think = special.expit(p["lean"] + p["pull"] * (payoff[:, None] - 0.5))
        return likely, np.stack([1 - think, think], -1)

    def forward(likely, move, rows):
        state, total, states = np.full(2, 0.5), 0.0, []
        for i in rows:
            state = (state @ move[i] if states else state) * likely[i]
            total += np.log(state.sum())
            state = state / state.sum()
            states.append(state)
        return total, states

    def cost(x: np.ndarray) -> float:
        p, (likely, move) = named(x), parts(x)
        prior = stats.norm.logpdf(p["level"], -1.0, 0.5).sum()
        prior += stats.norm.logpdf(x[2:4], -1.5, 0.3).sum()  # of the logarithms of spreads
        prior += stats.beta.logpdf(p["able"], 4, 1) + np.log(p["able"] * (1 - p["able"]))
        prior += stats.norm.logpdf(x[5:7], 0, 3).sum() + stats.norm.logpdf(x[7:9], 0, 5).sum()
        return -prior - sum(forward(likely, move, rows)[0] for rows in blocks)

    start = [-1.4, -0.5, -1.5, -1.5, 2.0, 0.0, 3.0, 5.0, 5.0]
    x = optimize.minimize(cost, start, method="BFGS", options={"gtol": 1e-2}).x
    likely, move = parts(x)
    think = np.empty(len(table))
    for rows in blocks:
        back = np.ones(2)
        states = forward(likely, move, rows)[1]
        for i, state in zip(rows[::-1], states[::-1], strict=True):
            both = state * back
            think[i] = both[1] / both.sum()
            back = move[i] @ (likely[i] * back)
            back /= back.sum()
    return named(x), think


def stimulation() -> dict[str, np.ndarray]:
    """Skills by pair, effects by pair and skills of people, where the posterior is highest."""
    table = pd.read_csv(DATA / "choices.csv")
    pair = table["pair"].to_numpy()[:, None] == np.array(["WL", "LL", "WW"])
    person = pd.get_dummies(table["subject"]).to_numpy(float)
    x = np.hstack([pair, pair * table["stimulation"].to_numpy()[:, None], person])
    sign = 2.0 * table["best"].to_numpy() - 1.0
    scale = np.repeat([1.5, 0.5, 0.5], [3, 3, 14])

    def cost(b: np.ndarray) -> float:
        return np.logaddexp(0.0, -sign * (x @ b)).sum() + 0.5 * ((b / scale) ** 2).sum()

    b = optimize.minimize(cost, np.zeros(20), method="BFGS").x
    return {"skill": b[:3], "effect": b[3:6], "own": b[6:]}


def addresses(counts: pd.DataFrame, chance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shares of topics and chances of words where the posterior is highest, by the EM algorithm.

    The density is that on the scale of softmax, on which `laplace` looks for the mode: there the
    prior of shares counts as half a word of each topic, and that of chances as half of each word.
    """
    n = counts.to_numpy(float)
    share = np.full((n.shape[1], len(chance)), 1 / len(chance))
    for _ in range(5000):
        ratio = n.T / (share @ chance)
        of_topic = share * (ratio @ chance.T) + 0.5
        of_word = chance * (share.T @ ratio) + 0.5
        before, share = share, of_topic / of_topic.sum(1, keepdims=True)
        chance = of_word / of_word.sum(1, keepdims=True)
        if abs(share - before).max() < 1e-7:
            break
    return share, chance


def parties() -> dict[str, float]:
    """Effects of age and income where the likelihood is highest, by statsmodels.

    Leaning and education have an effect for each level, in any order.
    """
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    table = pd.read_csv(DATA / "parties.csv")
    x = pd.DataFrame({"by_age": (table["age"] - 47) / 10, "by_income": (table["income"] - 16) / 5})
    for name in ("leaning", "education"):
        x = x.join(pd.get_dummies(table[name], prefix=name, drop_first=True, dtype=float))
    found = OrderedModel(table["party"], x, distr="logit").fit(method="bfgs", disp=0)
    return found.params[["by_age", "by_income"]].to_dict()
