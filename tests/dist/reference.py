"""Numbers that mpmath computes to 50 digits, of formulas written out here."""

from __future__ import annotations

from typing import Any

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
]  # fmt: skip

if __name__ == "__main__":
    for case in CASES:
        print(f"    {_computed(case)},")
    raise SystemExit

REFERENCE: list[tuple[Any, ...]] = [
    (*case[:4], wanted, case[5]) for case, wanted in zip(CASES, NUMBERS, strict=True)
]
