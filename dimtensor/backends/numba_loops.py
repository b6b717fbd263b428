"""Loops for PyTensor's numba linker: one jitted function per loop, which calls that of its body."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from textwrap import indent
from typing import Any

from pytensor.graph.basic import Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.traversal import graph_inputs
from pytensor.tensor.type import TensorType

from dimtensor.ops.loop.conditional import Conditional
from dimtensor.ops.loop.op import Loop, Scan
from dimtensor.ops.loop.rewrites import rewrite_loops
from dimtensor.ops.loop.shapes import lengths_of


def register() -> None:
    """Teach PyTensor's numba dispatcher the loops."""
    from pytensor.link.numba.dispatch.basic import register_funcify_and_cache_key

    register_funcify_and_cache_key(Scan)(_scan)
    register_funcify_and_cache_key(Loop)(_loop)
    register_funcify_and_cache_key(Conditional)(_conditional)


def with_loops_rewritten(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> list[Variable]:
    """Outputs of the same inputs, the loops on the way to them rewritten."""
    roots = dict.fromkeys([*inputs, *graph_inputs(outputs)])
    graph = FunctionGraph(
        [v for v in roots if not isinstance(v, Constant)],
        list(outputs),
        clone=True,
        copy_inputs=False,
    )
    rewrite_loops(graph, _rewrites().rewrite)
    return list(graph.outputs)


@cache
def _rewrites() -> Any:
    from pytensor.compile.mode import get_mode

    # an array that a body wrote over may be a state before the loop, or captured
    return get_mode("NUMBA").excluding("inplace").optimizer


def _compiled(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> Callable[..., Any]:
    """A jitted function of a graph, which gives a tuple."""
    from pytensor.link.numba.dispatch.basic import numba_funcify

    graph = FunctionGraph(list(inputs), list(outputs), clone=True)
    rewrite_loops(graph, _rewrites().rewrite)
    _rewrites().rewrite(graph)
    return numba_funcify(graph, fgraph_name="loop_body")


def _scan(op: Scan, node: Any = None, **kwargs: Any) -> tuple[Callable[..., Any], None]:
    graph = op.body.unfreeze()
    states, elements, captured = op.split_body_inputs(graph.inputs)
    traced = graph.outputs[op.n_states : op.n_states + op.n_traces]
    s, x, c, r, tr = (
        [f"{letter}{i}" for i in range(n)]
        for letter, n in (
            ("s", len(states)),
            ("x", len(elements)),
            ("c", len(captured)),
            ("r", len(graph.outputs)),
            ("t", len(traced)),
        )
    )
    read = [_element(name, v) for name, v in zip(x, elements, strict=True)]
    lines = [
        "n = max(n_steps.item(), 0)",
        *(f"if len({name}) != n: raise ValueError('a sequence has another length')" for name in x),
        *(f"{name} = copy({name})" for name in s),
        *(f"{name} = {_empty(v)}" for name, v in zip(tr, traced, strict=True)),
        f"go = {'go.item()' if op.stops else 'True'}",
        "done = 0",
        "while go and done < n:",
        f"    at = {'n - 1 - done' if op.reverse else 'done'}",
        f"    {_tuple(r)} = step({', '.join([*s, *read, *c])})",
    ]
    for name, result, v in zip(tr, r[op.n_states :], traced, strict=False):
        lines += [
            "    if done == 0:",
            f"        {name} = np.zeros((n,) + np.asarray({result}).shape, dtype={_dtype(v)})",
            f"    {name}[at] = {result}" + ("" if v.type.ndim else "[()]"),
        ]
    lines += [f"    {name} = copy({result})" for name, result in zip(s, r, strict=False)]
    lines += [f"    go = {r[-1]}.item()"] if op.stops else []
    lines += ["    done += 1"]
    unknown = any(None in v.type.shape for v in traced)
    if unknown:
        given = ", ".join([*s, *_dummies(x, elements), *c])
        lines += ["if done == 0:", f"    l = lengths({given})"]
        at = 0
        for name, v in zip(tr, traced, strict=True):
            shape = "".join(f"l[{at + i}].item()," for i in range(v.type.ndim))
            lines.append(f"    {name} = np.zeros((n, {shape}), dtype={_dtype(v)})")
            at += v.type.ndim
    else:
        lines += ["if done == 0:", "    pass"]
        lines += [
            f"    {name} = np.zeros((n, {_lengths(v)}), dtype={_dtype(v)})"
            for name, v in zip(tr, traced, strict=True)
        ]
    lines.append(_returned([*s, *tr, *(["np.asarray(done)"] if op.stops else [])]))
    names: dict[str, Any] = {"step": _compiled(graph.inputs, graph.outputs)}
    if unknown:
        lengths = [n for shape in lengths_of(traced) for n in shape]
        names["lengths"] = _compiled(graph.inputs, lengths)
    go = ["go"] if op.stops else []
    return _function(["n_steps", *go, *s, *x, *c], lines, names), None


def _loop(op: Loop, node: Any = None, **kwargs: Any) -> tuple[Callable[..., Any], None]:
    graph = op.body.unfreeze()
    s = [f"s{i}" for i in range(op.n_states)]
    r = [f"r{i}" for i in range(op.n_states + 1)]
    c = [f"c{i}" for i in range(len(graph.inputs) - op.n_states)]
    lines = [
        *(f"{name} = copy({name})" for name in s),
        "on = go.item()",
        "while on:",
        f"    {_tuple(r)} = step({', '.join([*s, *c])})",
        *(f"    {name} = copy({result})" for name, result in zip(s, r, strict=False)),
        f"    on = {r[-1]}.item()",
        _returned(s),
    ]
    names = {"step": _compiled(graph.inputs, graph.outputs)}
    return _function(["go", *s, *c], lines, names), None


def _conditional(op: Conditional, node: Any = None, **kwargs: Any) -> tuple[Any, None]:
    x = [f"x{i}" for i in range(len(op.then_branch.inputs))]
    r = [f"r{i}" for i in range(len(op.then_branch.outputs))]
    names = {}
    for name, branch in (("then", op.then_branch), ("other", op.else_branch)):
        graph = branch.unfreeze()
        names[name] = _compiled(graph.inputs, graph.outputs)
    lines = [
        "if condition.item():",
        f"    {_tuple(r)} = then({', '.join(x)})",
        "else:",
        f"    {_tuple(r)} = other({', '.join(x)})",
        # a branch may give what it got
        *(f"{name} = copy({name})" for name in r),
        _returned(r),
    ]
    return _function(["condition", *x], lines, names), None


def _function(
    arguments: Sequence[str], lines: Sequence[str], names: dict[str, Any]
) -> Callable[..., Any]:
    import numpy as np
    from pytensor.link.numba.dispatch.basic import numba_njit
    from pytensor.link.numba.dispatch.compile_ops import numba_deepcopy

    source = f"def loop({', '.join(arguments)}):\n" + indent("\n".join(lines), "    ")
    namespace: dict[str, Any] = {"np": np, "copy": numba_deepcopy, **names}
    exec(compile(source, "<loop>", "exec"), namespace)
    return numba_njit(namespace["loop"])


def _element(name: str, variable: Variable) -> str:
    return f"{name}[at]" if variable.type.ndim else f"np.asarray({name}[at])"


def _dummies(names: Sequence[str], elements: Sequence[Variable]) -> list[str]:
    """Arrays of the shapes of sequences' elements."""
    return [
        f"np.zeros({name}.shape[1:], dtype={_dtype(v)})"
        for name, v in zip(names, elements, strict=True)
    ]


def _empty(variable: Variable) -> str:
    return f"np.zeros(({'0, ' * (variable.type.ndim + 1)}), dtype={_dtype(variable)})"


def _lengths(variable: Variable) -> str:
    return "".join(f"{n}, " for n in variable.type.shape)


def _dtype(variable: Variable) -> str:
    assert isinstance(variable.type, TensorType)
    return "np.bool_" if variable.type.dtype == "bool" else f"np.{variable.type.dtype}"


def _tuple(names: Sequence[str]) -> str:
    return f"({', '.join(names)},)"


def _returned(names: Sequence[str]) -> str:
    return f"return {names[0] if len(names) == 1 else _tuple(names)}"
