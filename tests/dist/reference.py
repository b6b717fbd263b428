"""Numbers that mpmath computes to 50 digits, of formulas written out here."""

from __future__ import annotations

from typing import Any

TAILS = [1e-30, 1e-8, 0.2, 0.49, 0.6, 1.0 - 1e-8, 1.0 - 2.0**-50]

# distribution, method, parameters, points, formula of mpmath (m), relative tolerance
CASES: list[tuple[str, str, dict[str, float], list[float], str, float]] = [
    ("Normal", "logcdf", {"mu": 0.0, "sigma": 1.0}, [-1e4, -40.0, -5.0, 0.0, 3.0, 9.0],
     "m.log(m.erfc(-x / m.sqrt(2)) / 2)", 1e-13),
    ("HalfNormal", "logsf", {"sigma": 0.01}, [1.0, 0.1, 1e-5],
     "m.log(m.erfc(x / sigma / m.sqrt(2)))", 1e-13),
    ("StudentT", "logp", {"nu": 1e10, "mu": 0.0, "sigma": 1.0}, [0.0, 3.0, 30.0],
     "m.loggamma((nu + 1) / 2) - m.loggamma(nu / 2) - m.log(nu * m.pi) / 2"
     " - (nu + 1) / 2 * m.log1p(x * x / nu)", 1e-14),
    ("StudentT", "logp", {"nu": 41.0, "mu": 0.0, "sigma": 1.0}, [0.0, 3.0, 1e200],
     "m.loggamma((nu + 1) / 2) - m.loggamma(nu / 2) - m.log(nu * m.pi) / 2"
     " - (nu + 1) / 2 * m.log1p(x * x / nu)", 1e-14),
    ("StudentT", "logcdf", {"nu": 1e7, "mu": 0.0, "sigma": 1.0}, [-20.0, -3.0, -0.5],
     "m.log(m.quad(lambda t: m.exp(m.loggamma((nu + 1) / 2) - m.loggamma(nu / 2)"
     " - m.log(nu * m.pi) / 2 - (nu + 1) / 2 * m.log1p(t * t / nu)),"
     " [x - 32, x - 8, x - 4, x - 2, x - 1, x - 0.5, x - 0.25, x]))", 1e-11),
    ("Gamma", "logp", {"alpha": 1e-6, "beta": 2.0}, [1e-300, 1e-8, 1.0],
     "alpha * m.log(beta) - m.loggamma(alpha) + (alpha - 1) * m.log(x) - beta * x", 1e-13),
    ("Gamma", "logcdf", {"alpha": 1e-3, "beta": 1.0}, [1e-300, 1e-8, 1.0],
     "m.log(m.gammainc(alpha, 0, beta * x, regularized=True))", 1e-12),
    ("Beta", "logp", {"alpha": 1e-6, "beta": 1e-3}, [1e-300, 0.5, 0.999999],
     "(alpha - 1) * m.log(x) + (beta - 1) * m.log1p(-x) - m.log(m.beta(alpha, beta))", 1e-12),
    ("Rice", "logp", {"nu": 60.0, "sigma": 1.0}, [1.0, 60.0, 100.0],
     "m.log(x / sigma**2) - (x * x + nu * nu) / (2 * sigma**2)"
     " + m.log(m.besseli(0, x * nu / sigma**2))", 1e-13),
    ("GeneralizedExtremeValue", "logp", {"mu": 0.0, "sigma": 1.0, "xi": 1e-7}, [-2.0, 0.5, 8.0],
     "-(1 + 1 / xi) * m.log1p(xi * x) - (1 + xi * x) ** (-1 / xi)", 1e-13),
    ("ExGaussian", "logp", {"mu": 0.0, "sigma": 1.0, "nu": 1e-6}, [-8.0, 0.0, 8.0],
     "m.log(m.erfc((sigma / nu - x) / m.sqrt(2)) / 2) + (sigma / nu) ** 2 / 2 - x / nu"
     " - m.log(nu)", 1e-11),
    ("Wald", "logcdf", {"mu": 1.0, "lam": 1e3, "alpha": 0.0}, [0.8, 1.0, 1.2],
     "m.log(m.ncdf(m.sqrt(lam / x) * (x - 1)) + m.exp(2 * lam)"
     " * m.ncdf(-m.sqrt(lam / x) * (x + 1)))", 1e-11),
    ("VonMises", "logp", {"mu": 0.0, "kappa": 1e6}, [0.0, 1e-3, 0.01],
     "kappa * (m.cos(x) - 1) - m.log(2 * m.pi) - m.log(m.besseli(0, kappa)) + kappa", 1e-13),
    ("PolyaGamma", "logp", {"h": 300.0, "z": 0.0}, [40.0, 75.0, 120.0],
     "m.log(m.fsum((-1) ** n * m.rf(h, n) / m.factorial(n) * (2 * n + h)"
     " * m.exp(-(2 * n + h) ** 2 / (8 * x)) for n in range(400))) + (h - 1) * m.log(2)"
     " - m.log(2 * m.pi * x**3) / 2", 1e-13),
    ("SkewStudentT", "icdf", {"a": 1.0, "b": 2.0, "mu": 0.0, "sigma": 1.0}, TAILS,
     "(1 - 2 * m.sqrt(1 - x)) * m.sqrt(3) / 2 / m.sqrt((1 - m.sqrt(1 - x)) * m.sqrt(1 - x))",
     1e-12),
    ("SkewStudentT", "icdf", {"a": 2.0, "b": 1.0, "mu": 0.0, "sigma": 1.0}, TAILS,
     "(2 * m.sqrt(x) - 1) * m.sqrt(3) / 2 / m.sqrt((1 - m.sqrt(x)) * m.sqrt(x))", 1e-12),
    ("HalfStudentT", "icdf", {"nu": 2.0, "sigma": 1.0}, [1e-300, *TAILS],
     "x * m.sqrt(2 / (1 - x * x))", 1e-12),
    ("HalfStudentT", "icdf", {"nu": 1e30, "sigma": 1.0}, [1e-300, 1e-12, 0.2],
     "m.sqrt(2) * m.erfinv(x)", 1e-13),
    ("Cauchy", "icdf", {"mu": 0.0, "sigma": 1.0}, TAILS, "m.tan(m.pi * (x - m.mpf('0.5')))", 1e-12),
    ("HyperbolicSecant", "icdf", {"mu": 0.0, "sigma": 1.0}, TAILS,
     "m.log(m.tan(m.pi / 2 * x))", 1e-12),
    ("ContinuousBernoulli", "icdf", {"logit_lam": 3.0}, [1e-300, *TAILS],
     "m.log1p(x * m.expm1(logit_lam)) / logit_lam", 1e-12),
    ("ContinuousBernoulli", "icdf", {"logit_lam": -40.0}, [1e-300, *TAILS],
     "m.log1p(x * m.expm1(logit_lam)) / logit_lam", 1e-12),
    ("ContinuousBernoulli", "icdf", {"logit_lam": 800.0}, [1e-300, *TAILS],
     "m.log1p(x * m.expm1(logit_lam)) / logit_lam", 1e-12),
    ("LogGamma", "logcdf", {"c": 1.7, "mu": 0.0, "sigma": 1.0}, [-900.0, -30.0, -5.0, -4.0, 1.0],
     "m.log(m.gammainc(c, 0, m.exp(x), regularized=True))", 1e-13),
    ("LogGamma", "logsf", {"c": 0.02, "mu": 0.0, "sigma": 1.0}, [-900.0, -30.0, -5.0, -4.0, 1.0],
     "m.log(m.gammainc(c, m.exp(x), regularized=True))", 1e-13),
    ("Gamma", "logsf", {"alpha": 3.0, "beta": 2.0}, [300.0, 400.0, 1e5],
     "m.log((1 + beta * x + (beta * x) ** 2 / 2)) - beta * x", 1e-14),
    ("Gamma", "logcdf", {"alpha": 200.0, "beta": 1.0}, [1e-3, 1.0, 4.0, 8.0],
     "alpha * m.log(x) - x - m.loggamma(alpha + 1) + m.log(m.hyp1f1(1, alpha + 1, x))", 1e-13),
    ("Poisson", "logcdf", {"mu": 1e4}, [0.0, 10.0, 5000.0],
     "m.log(m.fsum(m.exp(k * m.log(mu) - mu - m.loggamma(k + 1)) for k in range(int(x) + 1)))",
     1e-13),
    ("GeneralizedNormal", "logsf", {"mu": 0.0, "sigma": 1.0, "beta": 2.0}, [5.0, 30.0, 222.0],
     "m.log(m.erfc(x) / 2)", 1e-13),
    ("StudentT", "logcdf", {"nu": 9e4, "mu": 0.0, "sigma": 1.0}, [-300.0, -40.0],
     "m.log(nu / (nu + x * x)) * nu / 2 + m.log(x * x / (nu + x * x)) / 2 - m.log(nu / 2)"
     " - m.log(m.beta(nu / 2, m.mpf('0.5'))) - m.log(2)"
     " + m.log(m.hyp2f1(nu / 2 + m.mpf('0.5'), 1, nu / 2 + 1, nu / (nu + x * x)))", 1e-13),
    ("Beta", "logcdf", {"alpha": 300.0, "beta": 5.0}, [1e-3, 0.05, 0.5],
     "m.log(m.betainc(alpha, beta, 0, x, regularized=True))", 1e-13),
]  # fmt: skip


def _computed(case: tuple) -> list[float]:
    import mpmath as m

    _, _, parameters, points, formula, _ = case
    with m.workdps(50):
        known = {name: m.mpf(value) for name, value in parameters.items()}
        return [float(m.re(eval(formula, {"m": m, **known, "x": m.mpf(x)}))) for x in points]


# what the formulas give
NUMBERS: list[list[float]] = [
    [
        -50000010.12927891, -804.6084420137538, -15.064998393988725,
        -0.6931471805599453, -0.0013508099647481938, -1.1285884059538405e-19,
    ],
    [-5004.831061513645, -52.53813796995253, -0.0007982029070198694],
    [-0.9189385332296728, -5.418938531654673, -450.91891832823086],
    [-0.9250354900541671, -5.09250520325477, -19264.654803239246],
    [-203.9131355045741, -6.607723759187777, -1.175911743764279],
    [676.9593278350835, 4.60515301566937, -15.815509287602252],
    [-0.6901991342999303, -0.017844287155659007, -0.00021963247503191025],
    [676.9583270660322, -12.430909535861476, -0.014814009276542842],
    [-1743.4640098103448, -0.9189038061585236, -800.663504886252],
    [-5.389057176742168, -1.1065307047942656, -8.00033306370277],
    [-32.918946533173674, -0.9189385332056728, -32.91893053317367],
    [-27.786776164662935, -0.6806135447034446, -3.5191666827938803e-09],
    [5.988816620777402, 5.488816662444067, -44.01076671394482],
    [-82.38870320210214, -2.182040926723975, -58.18249939352394],
    [
        -1224744871391589.0, -12247.448606750713, -2.223202073094595, -0.8209129599403181,
        -0.47583982347554427, 86.58954934727778, 5016.554768962462,
    ],
    [
        -27386127.875258263, -86.58954945608333, -0.1838850970199946, 0.7559289460184544,
        1.1382506715919984, 12247.448575980474, 41095618.50445779,
    ],
    [
        1.414213562373095e-300, 1.4142135623730952e-30, 1.4142135623730952e-08, 0.2886751345948129,
        0.7949372637653902, 1.0606601717798212, 9999.999899876204, 33554431.999999978,
    ],
    [1.2533141373155002e-300, 1.2533141373155002e-12, 0.25334710313579983],
    [
        -3.183098861837906e+29, -31830988.618379056, -1.3763819204711734, -0.03142626604335118,
        0.32491969623290623, 31830988.458436, 358385071201416.2,
    ],
    [
        -68.62597008453191, -17.96909803866291, -1.1241772156979302, -0.0314210955241257,
        0.31945825948088, 17.96909803363815, 34.20577632270781,
    ],
    [
        6.361845641062556e-300, 6.361845641062557e-30, 6.361845033966434e-08, 0.5240578734150866,
        0.7790571141574447, 0.8406089381245391, 0.9999999968326235, 0.9999999999999997,
    ],
    [
        2.5e-302, 2.5e-32, 2.5000000125e-10, 0.005578588782855244, 0.016833613831594138,
        0.022907268296853876, 0.46051701846256926, 0.8663146802398328,
    ],
    [
        0.13653059012723287, 0.9136530590127233, 0.9769741490700595, 0.9979882026094574,
        0.9991083126401532, 0.9993614679702925, 0.9999999999875, 1.0,
    ],
    [
        -1530.434820553655, -51.434820553655165, -8.939061533686644, -7.246342044047956,
        -0.19956386568045315,
    ],
    [
        -1.540179920327897e-08, -0.8096880491839313, -2.464219614326902, -2.7060059311412017,
        -7.853560467223054,
    ],
    [-587.8959545429517, -787.3214237278233, -199976.2809918895],
    [-2244.7840380136963, -864.2269997746446, -589.9530158292478, -455.30307263594403],
    [-10000.0, -9923.00000845316, -1538.7487016355828],
    [-27.89403672609738, -904.6672642912039, -49290.66819965038],
    [-31197.899286503452, -797.5716947189153],
    [-2052.660328434901, -879.2539117410115, -191.03316628650137],
]  # fmt: skip


if __name__ == "__main__":
    for case in CASES:
        print(f"    {_computed(case)},")
    raise SystemExit

REFERENCE: list[tuple[Any, ...]] = [
    (*case[:4], wanted, case[5]) for case, wanted in zip(CASES, NUMBERS, strict=True)
]
