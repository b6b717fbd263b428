"""First and second derivatives of special functions by all of their parameters.

The wanted numbers are those of mpmath 1.4 at 40 digits (`mpmath.diff` of its own functions).
"""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.tensor import elementwise
from tests.backend_names import COMPILED, LONG_JAX

WANTED = {
    ("gammainc", (0.7, 0.3)): (
        [-0.6376217755798, 0.8189965519314],
        [[0.6827666183458, 0.01314550839158], [0.01314550839158, -1.637993103863]],
    ),
    ("gammainc", (2.0, 7.5)): (
        [-0.008103810926299, 0.004148132776109],
        [[-0.01100156059706, 0.006604319702545], [0.006604319702545, -0.003595048405961]],
    ),
    ("gammainc", (40.0, 35.0)): (
        [-0.0480011964148, 0.05114012511737],
        [[0.006425566137504, -0.006186897180187], [-0.006186897180187, 0.0058445857277]],
    ),
    ("gammaincc", (2.5, 3.1)): (
        [0.2197337009415, -0.1849666568786],
        [[0.04589075586167, -0.07921113306577], [-0.07921113306577, 0.09546666161477]],
    ),
    ("gammal", (2.5, 3.1)): (
        [0.3741389207726, 0.2458836474552],
        [[0.4612943534023, 0.278193277912], [0.278193277912, -0.1269076890091]],
    ),
    ("gammau", (0.7, 0.3)): (
        [-0.09019237070804, -1.063102841655],
        [[0.3461342131947, 1.279946909554], [1.279946909554, 2.126205683309]],
    ),
    ("betainc", (2.5, 3.1, 0.8)): (
        [-0.02773881952962, 0.04651330948271, 0.5134105613878],
        [
            [-0.01063122480134, 0.02906768754194, 0.3617140297596],
            [0.02906768754194, -0.05716855165582, -0.4826739226646],
            [0.3617140297596, -0.4826739226646, -4.42816609197],
        ],
    ),
    ("betainc", (12.0, 1.0, 0.9)): (
        [-0.02975692160064, 0.3578937803752, 3.76572715308],
        [
            [0.003135204604233, -0.02264039979904, -0.08294835858519],
            [-0.02264039979904, 0.04273572755804, 3.014937505701],
            [-0.08294835858519, 3.014937505701, 46.0255540932],
        ],
    ),
    ("betainc", (0.08, 1058.0, 0.00018)): (
        [-1.227208904289, 5.706060175802e-5, 335.2739211204],
        [
            [0.5954480849289, 0.0006444145597081, 3786.578376643],
            [0.0006444145597081, -5.991132139749e-8, -0.03499218734557],
            [3786.578376643, -0.03499218734557, -2068070.598829],
        ],
    ),
    ("hyp2f1", (0.7, 1.3, 2.1, 0.3)): (
        [0.2526044119977, 0.1406577958179, -0.08926873688538, 0.6747503800052],
        [
            [0.06632724360369, 0.2299794909675, -0.1472266432012, 1.14319396378],
            [0.2299794909675, 0.02777074299193, -0.08355057330799, 0.654912766765],
            [-0.1472266432012, -0.08355057330799, 0.09419501372954, -0.4244085061055],
            [1.14319396378, 0.654912766765, -0.4244085061055, 1.177891483821],
        ],
    ),
    ("hyp2f1", (2.5, 0.4, 1.2, -0.4)): (
        [-0.07070825248311, -0.5191959599018, 0.1568220718025, 0.4014984451305],
        [
            [0.01399551974357, -0.1438347278254, 0.03908654332698, 0.08284109017611],
            [-0.1438347278254, 0.2739402147392, 0.3271163951487, 0.7856302642169],
            [0.03908654332698, 0.3271163951487, -0.2343161269566, -0.2042030923204],
            [0.08284109017611, 0.7856302642169, -0.2042030923204, 0.605649320903],
        ],
    ),
    ("hyp2f1", (-2.0, 1.3, 2.1, 0.5)): (
        [0.1546827743733, -0.3379416282642, 0.2030670055049, -0.778801843318],
        [
            [0.06706259285956, 0.0574856068144, -0.02841866904621, 0.03942433913311],
            [0.0574856068144, 0.07680491551459, 0.1163281823309, -0.3993855606759],
            [-0.02841866904621, 0.1163281823309, -0.1695005094539, 0.222698861022],
            [0.03942433913311, -0.3993855606759, 0.222698861022, 0.9185867895545],
        ],
    ),
    ("hyp2f1", (0.5, 1.2, 2.3, -3.0)): (
        [-0.5338826562567, -0.18880160244, 0.08845489068179, 0.05725240466968],
        [
            [0.5262853200535, -0.235140183792, 0.103193642814, 0.06031555836093],
            [-0.235140183792, 0.1163563619398, 0.02888813447034, 0.01521050588209],
            [0.103193642814, 0.02888813447034, -0.05519261868712, -0.005412455254902],
            [0.06031555836093, 0.01521050588209, -0.005412455254902, 0.01693786592436],
        ],
    ),
    ("gammaincinv", (2.5, 0.3)): (
        [0.817780011776, 3.242955836118],
        [[0.04406482315267, 0.9654185875823], [0.9654185875823, -0.0003220585124257]],
    ),
    ("gammainccinv", (2.5, 0.3)): (
        [1.175333649295, -5.2224038478],
        [[-0.03806343617519, -0.98062961352], [-0.98062961352, 13.78163114512]],
    ),
    ("betaincinv", (2.5, 3.1, 0.4)): (
        [0.1153328311908, -0.08128753640662, 0.5515035577209],
        [
            [-0.04158500545819, -0.008563942497829, -0.01573271788558],
            [-0.008563942497829, 0.03447763167412, -0.07947643828694],
            [-0.01573271788558, -0.07947643828694, -0.1474414694486],
        ],
    ),
}


# what takes seconds
LONG = ("beta", "gammaincc", "hyp2f1")


def derivatives(name: str, backend: str, points: list[tuple]) -> list[list[np.ndarray]]:
    """Gradients and Hessians at some points."""
    xs = [dt.scalar(letter) for letter in "abcz"[: len(points[0])]]
    slopes = dt.grad(getattr(elementwise, name)(*xs), xs)
    outputs = [*slopes, *(second for slope in slopes for second in dt.grad(slope, xs))]
    f = dt.function(xs, outputs, backend)
    n = len(xs)
    found = []
    for point in points:
        numbers = np.array([float(v) for v in f(*point)])
        found.append([numbers[:n], numbers[n:].reshape(n, n)])
    return found


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * name.startswith(LONG))
        for name in dict.fromkeys(name for name, _ in WANTED)
    ],
)
def test_first_and_second_derivatives(name: str):
    points = [point for one, point in WANTED if one == name]
    for point, found in zip(points, derivatives(name, "python", points), strict=True):
        for one, wanted in zip(found, WANTED[name, point], strict=True):
            np.testing.assert_allclose(one, wanted, rtol=1e-9, err_msg=str(point))


@pytest.mark.slow  # it compiles for seconds
@pytest.mark.compiled
@pytest.mark.parametrize("backend", COMPILED)
def test_second_derivatives_compiled(backend: str):
    """Of the function whose series has the fewest operations."""
    point = (2.0, 7.5)
    (found,) = derivatives("gammainc", backend, [point])
    for one, wanted in zip(found, WANTED["gammainc", point], strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-9)


def test_forward_mode_agrees():
    a, x = dt.scalar("a"), dt.scalar("x")
    slope = dt.jvp(dt.jvp(dt.special.gammainc(a, x), a, 1.0), x, 1.0)
    assert float(slope.eval({a: 0.7, x: 0.3})) == pytest.approx(0.01314550839158, rel=1e-9)


def test_parameters_along_a_dim():
    k = dt.Dim("k", length=3)
    a, x = dt.tensor("a", dims=k), dt.scalar("x")
    points = {"a": np.array([0.0, -2.0, 0.7]), "x": 0.5}
    y = dt.special.hyp2f1(a, 1.3, 2.1, x).sum()
    by_x, mixed = dt.evaluate([dt.grad(y, a), dt.grad(dt.grad(y, x), a)], points)
    # mpmath, as above
    np.testing.assert_allclose(by_x.values[:2], [0.3899335147785, 0.1546827743733], rtol=1e-9)
    np.testing.assert_allclose(mixed.values[:2], [1.010766980423, 0.03942433913311], rtol=1e-9)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_betainc_beside_its_mean(backend: str):
    """Where PyTensor's continued fractions hardly converge (mpmath, as above)."""
    k = dt.Dim("k", length=2)
    a, b, x = (dt.tensor(letter, dims=k) for letter in "abx")
    inverse = dt.special.betaincinv(a, b, dt.stop_gradient(dt.special.betainc(a, b, x)))
    slopes = dt.grad(dt.special.betainc(a, b, x).sum(), [a, b])
    f = dt.function([a, b, x], [*slopes, dt.grad(inverse.sum(), a)], backend)
    by_a, by_b, of_inverse = f([0.08, 440.0], [1058.0, 0.06], [0.00018, 0.9998])
    np.testing.assert_allclose(by_a, [-1.227208904289, -0.0001115363606548], rtol=1e-8)
    np.testing.assert_allclose(by_b, [5.706060175802e-5, 1.798271220011], rtol=1e-8)
    by_x = np.array([335.2739211204, 245.1425129703])
    np.testing.assert_allclose(of_inverse, -by_a.values / by_x, rtol=1e-6)
