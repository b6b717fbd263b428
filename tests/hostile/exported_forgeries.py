"""Files of an exported function that somebody has made by hand, with hashes that fit."""

from __future__ import annotations

import dataclasses
import io
import os
import pickle
import random
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.hostile.exported_folders import FLOOR, Fault, rehashed

_CALL = (
    "%evil = stablehlo.custom_call @{name}(%arg1) {{{attributes}}} : (tensor<f64>) -> tensor<f64>"
)
_TARGETS = [
    "xla_ffi_python_cpu_callback", "xla_python_cpu_callback",
    "xla_ffi_partitioned_python_cpu_callback",
    "xla_python_gpu_callback", "xla_ffi_python_gpu_callback", "tpu_custom_call", "mosaic_gpu_v2",
    "tf.call_tf_function", "AllocateBuffer", "annotate_device_placement", "no_such_target",
    "lapack_dgetrf", "blas_dtrsm", "__gpu$xla.gpu.triton", "HostExecute", "cudnn$conv",
    "xla_ffi_call", "dynamic_ffi", "hipsolver_no_ffi", "LAPACK_DGETRF_FFI", "lapack_dgetrf_ffi ",
]  # fmt: skip
_BACKENDS = {
    "an index": "api_version = 4 : i32, backend_config = {index = 94906265 : ui64}, "
    "has_side_effect = true",
    "an address": 'api_version = 2 : i32, backend_config = "94906265624", has_side_effect = true',
}
_TOKEN = "%token = stablehlo.create_token : !stablehlo.token\n"
_LINES = {
    "infeed": _TOKEN + '%in:2 = "stablehlo.infeed"(%token) {infeed_config = ""} '
    ": (!stablehlo.token) -> (tensor<f64>, !stablehlo.token)",
    "outfeed": _TOKEN + '%out = "stablehlo.outfeed"(%arg1, %token) {outfeed_config = ""} '
    ": (tensor<f64>, !stablehlo.token) -> !stablehlo.token",
    "replica_id": "%id = stablehlo.replica_id : tensor<ui32>\n"
    "%evil = stablehlo.convert %id : (tensor<ui32>) -> tensor<f64>",
    "partition_id": "%id = stablehlo.partition_id : tensor<ui32>\n"
    "%evil = stablehlo.convert %id : (tensor<ui32>) -> tensor<f64>",
    "all_gather": '%g = "stablehlo.all_gather"(%arg0) {all_gather_dim = 0 : i64, replica_groups = '
    "dense<[[0]]> : tensor<1x1xi64>} : (tensor<3xf64>) -> tensor<3xf64>",
    "send": _TOKEN + '%s = "stablehlo.send"(%arg1, %token) {channel_handle = #stablehlo.channel_'
    "handle<handle = 1, type = 2>, is_host_transfer = true} : (tensor<f64>, !stablehlo.token) -> "
    "!stablehlo.token",
    "a call in a loop": """
    %z = stablehlo.constant dense<0.0> : tensor<f64>
    %evil = stablehlo.while(%i = %z) : tensor<f64> cond {
      %no = stablehlo.compare LT, %i, %z, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %no : tensor<i1>
    } do {
      %in = stablehlo.custom_call @xla_python_cpu_callback(%i) : (tensor<f64>) -> tensor<f64>
      stablehlo.return %in : tensor<f64>
    }""",
}  # fmt: skip
_FUNCTIONS = {
    "a call in a function that nothing calls": """
  func.func private @unused(%x: tensor<f64>) -> tensor<f64> {
    %y = stablehlo.custom_call @xla_python_cpu_callback(%x) : (tensor<f64>) -> tensor<f64>
    return %y : tensor<f64>
  }""",
    "a function that calls itself": """
  func.func private @again(%x: tensor<f64>) -> tensor<f64> {
    %y = func.call @again(%x) : (tensor<f64>) -> tensor<f64>
    return %y : tensor<f64>
  }""",
    "functions that call each other": """
  func.func private @ping(%x: tensor<f64>) -> tensor<f64> {
    %y = func.call @pong(%x) : (tensor<f64>) -> tensor<f64>
    return %y : tensor<f64>
  }
  func.func private @pong(%x: tensor<f64>) -> tensor<f64> {
    %y = func.call @ping(%x) : (tensor<f64>) -> tensor<f64>
    return %y : tensor<f64>
  }""",
}
_REPLACED = {
    "an input of another length": ("%arg5: tensor<4xf64>", "%arg5: tensor<5xf64>"),
    "an input of another dtype": ("%arg1: tensor<f64>", "%arg1: tensor<f32>"),
    "another name of the entry": ("@main(", "@other("),
}


def modules(folder: Path) -> Iterator[Fault]:
    """Modules that call other code, wait for others, or are not what is said of them."""
    from jax import export

    whole = export.deserialize(bytearray((folder / "function.jax").read_bytes()))
    text = whole.mlir_module()
    start = re.search(r"func\.func public @main\(.*\{\n", text)
    assert start is not None
    at = start.end()
    lines = dict(_LINES)
    for target in _TARGETS:
        for how, attributes in _BACKENDS.items():
            quoted = f'"{target}"'
            lines[f"{target} with {how}"] = _CALL.format(name=quoted, attributes=attributes)
    for name, line in lines.items():
        rest = text[at:].replace("%arg1", "%evil") if "%evil" in line else text[at:]
        yield name, _forge(whole, text[:at] + line + "\n" + rest)
    end = text.index("{\n", text.index("module @")) + 2
    for name, function in _FUNCTIONS.items():
        called = re.search(r"@(\w+)", function).group(1)  # type: ignore[union-attr]
        call = f"%called = func.call @{called}(%arg1) : (tensor<f64>) -> tensor<f64>\n"
        added = text[:end] + function + "\n" + text[end:at]
        rest = text[at:] if called == "unused" else call + text[at:].replace("%arg1", "%called")
        yield name, _forge(whole, added + rest)
    for name, (old, new) in _REPLACED.items():
        yield name, _forge(whole, text.replace(old, new, 1), verify=False)
    for name, changed in _headers(whole):
        yield name, _write(changed)


def _headers(whole: Any) -> Iterator[tuple[str, Any]]:
    """What JAX keeps beside the module is something else."""
    import jax
    from jax import export

    yield "devices", dataclasses.replace(whole, nr_devices=2)
    yield "no inputs", dataclasses.replace(whole, in_avals=())
    yield "an input less", dataclasses.replace(whole, in_avals=whole.in_avals[:-1])
    yield "inputs reversed", dataclasses.replace(whole, in_avals=whole.in_avals[::-1])
    yield "an output less", dataclasses.replace(whole, out_avals=whole.out_avals[:-1])
    yield "outputs reversed", dataclasses.replace(whole, out_avals=whole.out_avals[::-1])
    for kept in ((), (0,), (5, 4, 3, 2, 1, 0), (0, 0, 0, 0, 0, 0), (0, 1, 2, 3, 4, 99)):
        yield f"kept {kept}", dataclasses.replace(whole, module_kept_var_idx=kept)
    for platforms in ((), ("cuda",), ("evil",), ("cpu", "cuda"), ("cpu",) * 5):
        yield f"platforms {platforms}", dataclasses.replace(whole, platforms=platforms)
    for version in (0, 1, 8, 99, 65535):
        yield (
            f"convention {version}",
            dataclasses.replace(whole, calling_convention_version=version),
        )
    every = export.DisabledSafetyCheck.custom_call("xla_python_cpu_callback")
    yield "no checks", dataclasses.replace(whole, disabled_safety_checks=(every,))
    yield "no module", dataclasses.replace(whole, mlir_module_serialized=b"")
    yield (
        "no such module",
        dataclasses.replace(whole, mlir_module_serialized=b"ML\xefR" + b"x" * 99),
    )
    yield "a tree", dataclasses.replace(whole, in_tree=jax.tree.structure(({"a": (0,) * 6}, {})))


def _forge(whole: Any, text: str, verify: bool = True) -> Callable[[Path], None]:
    """A folder with a module of another text."""
    from jax._src.export._export import _module_to_bytecode
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir

    with mlir.make_ir_context():
        if not verify:  # results of functions that are called have other types then
            text = re.sub(r"module @\w+", "module @forged", text)
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError:
            if verify:
                raise
            return lambda to: (to / "function.jax").write_bytes(b"")
        code = _module_to_bytecode(module)
    return _write(dataclasses.replace(whole, mlir_module_serialized=code))


def _write(exported: Any) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / "function.jax").write_bytes(bytes(exported.serialize()))
        rehashed(folder)

    return spoil


def headers(folder: Path) -> Iterator[Fault]:
    """One bit is another one in what JAX keeps beside the module, which Python reads."""
    from jax import export

    content = (folder / "function.jax").read_bytes()
    whole = export.deserialize(bytearray(content)).mlir_module_serialized
    at = content.index(whole)
    places = [*range(at), *range(at + len(whole), len(content))]
    for place in random.Random(3).sample(places, 24):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8

        def spoil(to: Path, new: bytearray = flipped) -> None:
            (to / "function.jax").write_bytes(new)
            rehashed(to)

        yield f"bit of the header at {place}", spoil


# -- data ------------------------------------------------------------------------------------------


class _Marker:
    def __reduce__(self) -> tuple[Any, ...]:
        return (os.system, ("echo PWNED > pwned",))


def data(folder: Path) -> Iterator[Fault]:
    """Archives that hold something else than the values of data."""
    good = _npy(FLOOR)
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (%s,), }"

    def lying(shape: bytes, dtype: bytes = b"<f8", rest: bytes = FLOOR.tobytes()) -> bytes:
        text = (header % shape).replace(b"<f8", dtype).ljust(117) + b"\n"
        return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + rest

    objects = io.BytesIO()
    np.lib.format.write_array(objects, np.array([_Marker()] * 4, dtype=object), allow_pickle=True)
    wrong = {
        "objects": objects.getvalue(), "a pickle": pickle.dumps(_Marker()), "nothing": b"",
        "half": good[: len(good) // 2], "more": good + b"x",
        "other dtype": _npy(FLOOR.astype("f4")), "swapped": _npy(FLOOR.astype(">f8")),
        "other length": _npy(FLOOR[:3]), "two axes": _npy(FLOOR.reshape(2, 2)),
        "no axes": _npy(FLOOR[0]), "dates": _npy(FLOOR.astype("M8[s]")),
        "2^62": lying(b"4611686018427387904"), "2^63": lying(b"9223372036854775808"),
        "a negative length": lying(b"-4"), "no length": lying(b""), "a text": lying(b"'x'"),
        "a huge number": lying(b"9" * 60), "records": lying(b"4", b"f8,f8"),
        "voids": lying(b"4", b"|V8"),
        "no bytes each": lying(b"4", b"|V0", b""), "objects said": lying(b"4", b"|O"),
        "code in the header": lying(b"__import__('os').system('echo PWNED > pwned')"),
        "depth": lying(b"(" * 50), "version 9": b"\x93NUMPY\x09" + good[7:],
        "version 3": b"\x93NUMPY\x03" + good[7:],
        "a long header": b"\x93NUMPY\x02\x00" + (2**31).to_bytes(4, "little") + good,
    }  # fmt: skip
    for name, content in wrong.items():
        yield name, _archived({"file.npy": content})
    yield "a bomb", _archived({"file.npy": bytes(1 << 24)}, zipfile.ZIP_DEFLATED)
    yield "a compressed member", _archived({"file.npy": good}, zipfile.ZIP_DEFLATED)
    for member in ("other.npy", "../file.npy", "/file.npy", "file", "FILE.npy", "file.npy/"):
        yield f"a member {member}", _archived({member: good})
    yield "no members", _archived({})
    for name, content in {
        "an array": good,
        "a text": b"PK",
        "an end": b"PK\5\6" + bytes(18),
    }.items():
        yield f"{name} for an archive", _put_data(content)
    whole = (folder / "data.npz").read_bytes()
    for at in random.Random(5).sample(range(len(whole)), 30):
        flipped = bytearray(whole)
        flipped[at] ^= 1 << at % 8
        if FLOOR.tobytes() in flipped:  # else it is other data, which nobody can tell
            yield f"bit of the archive at {at}", _put_data(bytes(flipped))


def _npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array))
    return file.getvalue()


def _archived(members: dict[str, bytes], kind: int = zipfile.ZIP_STORED) -> Callable[[Path], None]:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", kind) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return _put_data(file.getvalue())


def _put_data(content: bytes) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / "data.npz").write_bytes(content)
        rehashed(folder)

    return spoil


# -- files -----------------------------------------------------------------------------------------


def files(folder: Path) -> Iterator[Fault]:
    """Something else than a file of the folder in the place of each file that is read."""

    def replaced(name: str, put: Callable[[Path], object]) -> Callable[[Path], None]:
        def spoil(to: Path) -> None:
            (to / name).unlink()
            put(to / name)

        return spoil

    def sparse(path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(200 << 30)

    def outside(path: Path) -> None:
        copy = path.parent.parent / f"{path.name} of another folder"
        copy.write_bytes((folder / path.name).read_bytes())
        path.symlink_to(f"../{copy.name}")

    kinds: dict[str, Callable[[Path], object]] = {
        "nothing": lambda path: None,
        "a pipe": os.mkfifo,
        "a folder": Path.mkdir,
        "an empty file": Path.touch,
        "200 GB": sparse,
        "a link to an endless file": lambda path: path.symlink_to("/dev/zero"),
        "a link to the terminal": lambda path: path.symlink_to("/dev/tty"),
        "a link to itself": lambda path: path.symlink_to(path.name),
        "a link to nothing": lambda path: path.symlink_to("nothing"),
        "a link to the right file": lambda path: path.symlink_to(folder / path.name),
        "a link outside": outside,
        "a socket": _socket,
    }
    for name in ("manifest.json", "function.jax", "data.npz"):
        for what, put in kinds.items():
            yield f"{what} for {name}", replaced(name, put)


def _socket(path: Path) -> None:
    import socket

    here = os.open(".", os.O_RDONLY)
    os.chdir(path.parent)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.fchdir(here)
    os.close(here)


FORGED: dict[str, Callable[[Path], Iterator[Fault]]] = {
    "modules": modules,
    "headers": headers,
    "data": data,
    "files": files,
}
