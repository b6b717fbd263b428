"""Modified Bessel functions of the first kind, exp(-|x|) I(x), in arithmetic that LLVM vectorises.

Of sizes below 5 a polynomial of the size, beyond that one of 5 by the size, by its square root. The
polynomials interpolate the power series in Chebyshev nodes, with 60 digits. Errors are below 4e-15
of the result, by rounding; M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions
(1964), 9.8, has short ones of this form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

_END = 5.0
# i0e(x) and i1e(x) / x by powers of 2 x / 5 - 1, and both times √x by powers of 10 / x - 1
_I0E_NEAR = (
    0.2700464416122027, -0.15865448020234046, 0.1384053885917715, -0.12462780646120035,
    0.10508333313913906, -0.08010066899717178, 0.05468861514400408, -0.03349238575949956,
    0.018499650178111518, -0.009277766045753989, 0.004252926712215808, -0.001793137247725687,
    0.0006993441284579194, -0.00025359563942441767, 8.589354956221865e-05, -2.7284008084147967e-05,
    8.155799993043475e-06, -2.303344158514472e-06, 6.186194986174687e-07, -1.5702616422035155e-07,
    3.633598112292125e-08, -8.446685538129501e-09, 2.4937265368042288e-09, -5.171271466163584e-10,
)  # fmt: skip
_I0E_FAR = (
    0.4042445063366825, 0.005660126656687337, 0.0004105766181034118, 6.71944669319304e-05,
    2.133864547601376e-05, 1.0056139803998725e-05, 2.3566525586715246e-06, -4.549541932069602e-06,
    -5.190241564975601e-06, 1.2482168568994714e-06, 4.4168871714185835e-06, -1.0303253106447833e-06,
    -3.520787056235897e-06, 1.9961387998650303e-06, 2.1791903208644923e-06, -3.0695630266430527e-06,
    -1.8386963114570202e-08, 3.2863021055570776e-06, -2.5007647546211327e-06,
    -2.1631564098587127e-06, 4.178956557715499e-06, 2.930961175754909e-07, -4.130133879391511e-06,
    1.061791834063672e-06, 2.7286903584951642e-06, -1.2400563421991146e-06, -1.18724581011517e-06,
    7.031276278588724e-07, 3.0922643161012614e-07, -2.1511870214097173e-07, -3.6622911583653027e-08,
    2.8444246519084057e-08,
)  # fmt: skip
_I1E_NEAR = (
    0.08263385981250662, -0.10180592754407705, 0.09734673587940872, -0.07994452525473139,
    0.05789732331267593, -0.03743652037634483, 0.02180049438301092, -0.01151789641961201,
    0.0055577733859332725, -0.002464197344041451, 0.0010094464782472788, -0.000383959440021246,
    0.00013621810323283704, -4.525816517584308e-05, 1.4134196392845317e-05, -4.162869351923012e-06,
    1.1595807884727973e-06, -3.0645774805974747e-07, 7.723584590230818e-08, -1.8487624630101764e-08,
    4.081485656872009e-09, -8.982883942609306e-10, 2.449257784043158e-10, -4.852892702957772e-11,
)  # fmt: skip
_I1E_FAR = (
    0.3834662683541797, -0.01604924564793877, -0.0006433601986346872, -8.76615493661894e-05,
    -2.534533565001469e-05, -1.1519185839572234e-05, -2.9353925388498516e-06, 4.667602992252925e-06,
    5.663030107022826e-06, -1.0655326306242847e-06, -4.697200009412581e-06, 8.710328710869383e-07,
    3.7474446423904054e-06, -1.9266620094995786e-06, -2.3904341421077544e-06,
    3.1176552116341487e-06, 1.8884921131988712e-07, -3.4495635545096183e-06, 2.4136582596514613e-06,
    2.3927395033428216e-06, -4.1858735716447115e-06, -5.112563769267668e-07, 4.1918013971431224e-06,
    -9.133503921384669e-07, -2.7893606304091597e-06, 1.168707330088962e-06, 1.2193281042860523e-06,
    -6.801920592398583e-07, -3.186486933744623e-07, 2.1072916442486682e-07, 3.783505456630772e-08,
    -2.807125249113532e-08,
)  # fmt: skip


def texts(polynomial: Callable[[str, str, Sequence[float]], list[str]]) -> dict[str, list[str]]:
    """The functions by name, in LLVM's words, of what writes a polynomial."""
    return {
        "i0e": _text(polynomial, _I0E_NEAR, _I0E_FAR, odd=False),
        "i1e": _text(polynomial, _I1E_NEAR, _I1E_FAR, odd=True),
    }


def _text(
    polynomial: Callable[[str, str, Sequence[float]], list[str]],
    near: Sequence[float],
    far: Sequence[float],
    odd: bool,
) -> list[str]:
    times = "%a" if odd else "<1.0>"
    return [
        "%a = call double @llvm.fabs.f64(double %x)",
        f"%s = call double @llvm.fma.f64(double %a, double <{2.0 / _END!r}>, double <-1.0>)",
        *polynomial("%n", "%s", near),
        f"%near = fmul double %n, {times}",
        f"%u = fdiv double <{2.0 * _END!r}>, %a",
        "%t = fsub double %u, <1.0>",
        *polynomial("%f", "%t", far),
        "%root = call double @llvm.sqrt.f64(double %a)",
        "%far = fdiv double %f, %root",
        f"%small = fcmp olt double %a, <{_END!r}>",
        "%even = select i1 %small, double %near, double %far",
        *(["%result = call double @llvm.copysign.f64(double %even, double %x)"] if odd else []),
        f"ret double {'%result' if odd else '%even'}",
    ]
