"""Kernels start no threads of BLAS, in the environment that users have."""

from __future__ import annotations

import ctypes
import json
import os
import time

import numpy as np
import pytest

from dimtensor.kernels.native.linking import externals
from dimtensor.upstream import openblas
from tests.hostile.children import run

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(
        not hasattr(os, "memfd_create") or (os.cpu_count() or 1) < 2,
        reason="BLAS has one thread, or the system has no anonymous files",
    ),
]
USERS = {"OPENBLAS_NUM_THREADS": "2", "DIMTENSOR_CACHE": "0"}

# Threads that share a factorization compute, or wait in a busy loop, beside the calling thread, so
# the time of the process exceeds that of the thread: twice as much, whatever else the machine does.
PROGRAM = """
    import json, time
    import numpy as np
    import dimtensor as dt

    def density(n):
        point = dt.Dim("point", length=n)
        x = dt.data(np.linspace(0.0, 10.0, n), dims=point, name="x")
        scale = dt.scalar("scale")
        apart = (x - x.rename_dim(point)) / scale
        covariance = dt.exp(-0.5 * apart**2) + 0.1 * dt.eye(point)
        root = dt.linalg.cholesky(covariance)
        logdet = dt.log(dt.diagonal(root)).sum()
        inverse = dt.linalg.inv(covariance)
        total = logdet + dt.diagonal(inverse).sum() + dt.linalg.slogdet(covariance)[1]
        return dt.function([scale], [total, *dt.grad(total, [scale])]).positional

    found = {}
    for n in (64, 150):
        f, scale = density(n), np.asarray(0.7)
        f(scale)
        time.sleep(0.3)  # idle threads of BLAS wait in a busy loop for some milliseconds
        process, thread = time.process_time(), time.thread_time()
        for _ in range(10):
            results = f(scale)
        thread = time.thread_time() - thread
        found[n] = [thread, time.process_time() - process, *(float(r).hex() for r in results)]
    print(json.dumps(found))
"""


def measured(**environment):
    (line,) = run(PROGRAM, env=USERS | environment).ok().splitlines()
    return json.loads(line)


@pytest.mark.slow
def test_no_other_thread_works():
    found = measured()
    for n, (thread, process, *_) in found.items():
        assert process < 1.3 * thread, n
    with_threads = measured(DIMTENSOR_BLAS_THREADS="1")
    assert any(process > 1.3 * thread for thread, process, *_ in with_threads.values())
    # bits do not depend on the number of threads that other libraries have
    one = measured(OPENBLAS_NUM_THREADS="1")
    assert {n: bits for n, (_, _, *bits) in found.items()} == {
        n: bits for n, (_, _, *bits) in one.items()
    }


def original():
    """SciPy's OpenBLAS, as a library, where it has threads."""
    library = externals._shared_object("cython_lapack")
    if library is None or not hasattr(library, "scipy_openblas_get_num_threads"):
        pytest.skip("SciPy is not that of a wheel with OpenBLAS")
    return library


def test_the_library_of_others_is_unchanged(monkeypatch):
    library = original()
    monkeypatch.setenv("DIMTENSOR_BLAS_THREADS", "1")
    theirs = externals.address_of("lapack:dpotrf:5")
    monkeypatch.delenv("DIMTENSOR_BLAS_THREADS")
    before = library.scipy_openblas_get_num_threads(), set(os.listdir("/proc/self/fd"))
    openblas._loaded_copy.cache_clear()
    externals._address_of.cache_clear()
    ours = externals.address_of("lapack:dpotrf:5")
    assert ours == externals.address_of("lapack:dpotrf:5") != theirs
    assert (library.scipy_openblas_get_num_threads(), set(os.listdir("/proc/self/fd"))) == before
    copy = openblas.single_threaded(library, "scipy_")
    assert copy is not None
    assert copy.scipy_openblas_get_num_threads() == 1
    library.scipy_openblas_set_num_threads(2)
    try:
        assert copy.scipy_openblas_get_num_threads() == 1
        n = 200
        matrix = np.eye(n) + 0.5
        expected = np.linalg.cholesky(matrix)
        size, info = ctypes.c_int(n), ctypes.c_int(1)
        factor = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)(ours)
        time.sleep(0.1)  # idle threads of BLAS wait in a busy loop for some milliseconds
        ratios = []
        for _ in range(5):  # another thread of the process, of a test before, may end meanwhile
            process, thread = time.process_time(), time.thread_time()
            for _ in range(20):
                work = matrix.copy()
                pointers = work.ctypes.data, ctypes.addressof(size), ctypes.addressof(info)
                factor(b"U", pointers[1], pointers[0], pointers[1], pointers[2])
            process, thread = time.process_time() - process, time.thread_time() - thread
            ratios.append(process / thread)
    finally:
        library.scipy_openblas_set_num_threads(before[0])
    assert info.value == 0
    np.testing.assert_allclose(np.tril(work), expected, rtol=1e-12)
    assert min(ratios) < 1.3


def test_a_library_that_cannot_be_copied_is_used_itself(monkeypatch):
    library = original()

    def refuse(name):
        raise OSError("no anonymous files")

    monkeypatch.setattr(os, "memfd_create", refuse)
    openblas._loaded_copy.cache_clear()
    externals._address_of.cache_clear()
    try:
        where = externals.address_of("lapack:dpotrf:5")
        assert where == ctypes.cast(library.scipy_dpotrf_, ctypes.c_void_p).value
    finally:
        externals._address_of.cache_clear()
