"""Models in PyMC and NumPyro have our log densities and gradients: what is raced is one density."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tests.benchmarks.posteriordb import beside, posteriors
from tests.optional import jax

pytestmark = [
    pytest.mark.filterwarnings("ignore:RandomVariable Ops will stop:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Calling a RandomVariable without:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS:UserWarning"),
]
PAIRS = [(name, who) for name in beside.peer_names() for who in beside.written_for(name)]


def error(model: str, who: str) -> float:
    """How far a peer is from us at the first two points."""
    pytest.importorskip(who)
    name, module = posteriors.load_model(model).POSTERIORS[0], posteriors.load_model(model)
    if not posteriors.carried(name).exists() and posteriors.database() is None:
        pytest.skip("POSTERIORDB names no copy of posteriordb, and the data are not carried")
    options = getattr(module, "EXACT", {})  # of solvers
    # the interpreter solves no differential equations in the time
    built = posteriors.build(name, "numba" if options else "python", exact=True)
    known = posteriors.stored(name)
    points = known.points[[0, -1]][:, posteriors.order_of(built, known)]
    values = beside.our_values(built, points[0])
    with jax.enable_x64(True):
        theirs = beside.prepare(who, name, built.data, values, mode="FAST_COMPILE", **options)
        places = beside.places_of(built, theirs)
        found = places.results(theirs.evaluate(places.theirs(points)))
    return beside.error_of(found, beside.our_results(built, points))


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(("model", "who"), PAIRS)
def test_values_and_gradients_are_ours(model, who):
    assert error(model, who) <= 1e-8


@pytest.mark.parametrize("who", beside.PEERS)
def test_values_and_gradients_of_one(who):
    assert error("eight_schools_noncentered", who) <= 1e-8


def test_peers_are_of_models_that_we_have():
    assert set(beside.peer_names()) <= set(posteriors.model_names())
    for name in beside.peer_names():
        assert beside.load_peer(name).__doc__
        assert beside.written_for(name)


def test_errors_are_of_values_up_to_a_constant_and_of_gradients():
    ours = beside.Results(np.array([1.0, 5.0]), np.array([[3.0, 4.0], [0.0, 0.5]]))
    assert beside.error_of(beside.Results(ours.values + 7, ours.gradients), ours) == 0
    other = beside.Results(ours.values, ours.gradients + np.array([[0.0, 5e-3], [0, 0]]))
    assert beside.error_of(other, ours) == pytest.approx(1e-3)
    other = beside.Results(np.array([1.0, 6.0]), ours.gradients)
    assert beside.error_of(other, ours) == pytest.approx(0.2)
    assert beside.error_of(beside.Results(ours.values * np.nan, ours.gradients), ours) == np.inf


class Shifted:
    """A peer that has the elements of our vector the other way round, scaled and moved."""

    def __init__(self, scale: float, by: float):
        self.scale, self.by = scale, by

    def unconstrain(self, values):
        x = np.concatenate([values["alpha"][None], values["beta"], np.log(values["sigma"])[None]])
        return self.scale * x[::-1] + self.by


def test_places_are_found_by_values_of_parameters():
    built = posteriors.build("arK-arK", "python")
    places = beside.places_of(built, Shifted(2.0, 0.0))
    assert list(places.order) == [6, 5, 4, 3, 2, 1, 0]
    np.testing.assert_allclose(places.scales, 2.0)
    found = places.results(beside.Results(np.zeros(1), np.arange(7.0)[None]))
    np.testing.assert_allclose(found.gradients[0], 2.0 * np.arange(7.0)[::-1])
    with pytest.raises(ValueError, match="parameters are transformed in another way"):
        beside.places_of(built, Shifted(2.0, 1.0))


def test_a_peer_that_differs_or_fails_is_not_timed(tmp_path):
    class Done(beside.Worker):
        def __init__(self, *gradient):
            self.results, self.first = beside.Results(np.zeros(1), np.array([gradient])), 0.5

    found = {"ours": Done(1.0, 2.0), "pymc": Done(1.0, 2.5), "numpyro": "ImportError: no"}
    line = beside.agreeing(found, 1e-8)
    assert line["pymc"]["failed"].startswith("differs from ours by 2.2e-01")
    assert line["numpyro"] == {"failed": "ImportError: no"}
    line = beside.agreeing(found | {"ours": "ValueError: no"}, 1e-8)
    assert line["pymc"] == {"failed": "ours failed: ValueError: no"}


def test_a_process_that_does_not_answer_is_ended(monkeypatch):
    monkeypatch.setattr(beside, "PATIENCE", 0.2)
    worker = object.__new__(beside.Worker)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    worker.process, worker.times = subprocess.Popen(command, **pipes), []
    with pytest.raises(RuntimeError, match=r"did not answer for 0\.2 s"):
        worker.ask()
    worker.close()
    assert worker.process.returncode < 0
