"""Random generators in loops and branches: checks that no stream is drawn from twice."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from dimtensor.dims import Dim, Dims, dim_set, without
from dimtensor.errors import DimError, GraphError
from dimtensor.graph import Node
from dimtensor.graph.attrs import WORD
from dimtensor.graph.walk import toposort
from dimtensor.scopes import within
from dimtensor.tensor.control.pytree import parts_of

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

_AS_STATE = "make the generator a state, and return the one that the draw gives"


class Use(NamedTuple):
    """Use of a generator: its state words, and the call with its line of code."""

    words: Node
    by: str


class TracedBody:
    """Loop step or branch that is being traced, and the generators used in it.

    Parameters
    ----------
    name : str
        The function that the user called.
    own : sequence of Node
        Placeholders.
    operands : sequence of Node, optional
        Arguments of a branch, one for each placeholder; steps of a loop have none.
    dim : Dim, optional
        The dim of the loop.
    has_state : bool
        Whether the loop has a state.
    """

    def __init__(
        self,
        name: str,
        own: Sequence[Node],
        operands: Sequence[Node] | None = None,
        dim: Dim | None = None,
        has_state: bool = True,
    ):
        self.name, self.dim, self.has_state = name, dim, has_state
        self.own = set(own)
        self.repeats = operands is None
        self.stands_for: Mapping[Node, Node] = dict(zip(own, operands or (), strict=False))
        self.uses: list[Use] = []


_bodies: ContextVar[tuple[TracedBody, ...]] = ContextVar("bodies", default=())


def traced[T](body: TracedBody, call: Callable[[], T]) -> T:
    """Trace a step or a branch, recording and checking uses of generators."""
    return within(_bodies, (*_bodies.get(), body), call)


def innermost_loop() -> TracedBody | None:
    """Return the innermost loop whose step is being traced."""
    return next((body for body in reversed(_bodies.get()) if body.repeats), None)


def _varies(words: Node) -> bool:
    """Return True if a generator's state changes between steps of the innermost loop."""
    leaves = {words}
    for body in reversed(_bodies.get()):
        reached = set(toposort(sorted(leaves, key=lambda node: node._serial)))
        if body.repeats:
            return not body.own.isdisjoint(reached)
        leaves |= {node for leaf, node in body.stands_for.items() if leaf in reached}
    return True


class SingleUse:
    """Base class of generators: values that may be used once."""

    words: DimTensor
    _used: str | None = None

    def _use(self, by: str) -> None:
        """Record the use of the generator.

        Raises
        ------
        GraphError
            If it was used before, or if it is the same at every step of the traced loop.
        """
        frame = _user_frame()
        by = f"{by}{_place(frame)}"
        if self._used is not None:
            raise GraphError(
                f"a generator draws once; this one was used by {self._used}",
                [("used again by", by)],
                "every draw returns the generator for the next one: x, rng = rng.normal(); "
                "rng.split(dim) makes independent ones",
            )
        bodies, words = _bodies.get(), self.words.node
        loop = innermost_loop()
        if loop is not None and not _varies(words):
            raise _same_at_every_step(loop, _name_of(self, frame), by)
        if bodies:
            bodies[-1].uses.append(Use(words, by))
        object.__setattr__(self, "_used", by)


def _same_at_every_step(loop: TracedBody, name: str, by: str) -> GraphError:
    ways = [] if loop.dim is None else [
        f"give each step a generator of its own, by a sequence {name}.split({loop.dim._short})"
    ]  # fmt: skip
    ways += [_AS_STATE] if loop.has_state else []
    return GraphError(
        f"{loop.name}: every step would draw the same numbers, because {name} is the same "
        "generator at every step",
        [("used by", by)],
        "; or ".join(ways),
    )


def check_variable(name: str, node: Node) -> None:
    """Check that a random variable is not created in a loop step, where all steps would share it.

    Raises
    ------
    GraphError
        If it is, or if it depends on the arguments of a branch.
    """
    loop = innermost_loop()
    if loop is not None:
        dim = "" if loop.dim is None else f", dims={loop.dim._short}"
        outside = f"{name} = dt.rv({name!r}, ...{dim})"
        raise GraphError(
            f"{loop.name}: {name!r} would be one random variable for all steps, because a step "
            "makes it",
            hint=f"make it outside, {outside}, and give it to the loop as a sequence; "
            "dist.AR, dist.RandomWalk and dist.Series depend on what was before",
        )
    for body in _bodies.get():
        if not body.own.isdisjoint(toposort([node])):
            raise GraphError(
                f"{body.name}: {name!r} would be lost, because a branch makes it of its arguments",
                hint=f"make it outside: {name} = dt.rv({name!r}, ...)",
            )


def use_generators(value: Any, by: str) -> None:
    """Record that the generators in a tree are used, by a loop or branch that returns new ones."""
    if isinstance(value, SingleUse):
        value._use(by)
        return
    for part in parts_of(value):
        use_generators(part, by)


def is_words(node: Node) -> bool:
    """Return True if a node is the state of generators."""
    return node.dtype == "uint64" and WORD in node.dims


def check_returned(
    body: TracedBody, returned: Sequence[tuple[str, Node]], traced: Sequence[Node] = ()
) -> None:
    """Check that no generator that a body returns would repeat random numbers.

    Parameters
    ----------
    body : TracedBody
    returned : sequence of (str, Node)
        Paths of the results in error messages, and their nodes.
    traced : sequence of Node, optional
        Elements of traces; a returned state may be among them.

    Raises
    ------
    GraphError
        If a generator was used, is returned twice, or is the same after every step.
    """
    used = {use.words: use.by for use in body.uses}
    seen: dict[Node, str] = {}
    for path, node in (*returned, *(("y", node) for node in traced)):
        if not is_words(node):
            continue
        what = "a step" if body.repeats else "a function"
        if node in used:
            raise GraphError(
                f"{body.name}: {what} draws from a generator and returns it as it was before "
                "the draw, so the same numbers would be drawn again",
                [("returned as", path), ("used by", used[node])],
                "return the new generator, which the draw gives: x, rng = rng.normal()",
            )
        if node in seen and path != "y":
            raise GraphError(
                f"{body.name}: {what} returns one generator twice, and both would draw the "
                "same numbers",
                [("returned as", f"{seen[node]} and {path}")],
                "rng.split(dim) makes independent ones",
            )
        seen[node] = path
        if body.repeats and used and body.own.isdisjoint(toposort([node])):
            raise GraphError(
                f"{body.name}: every step after the first would draw the same numbers, because "
                "a step returns a generator that is the same after every step",
                [("returned as", path)],
                _AS_STATE,
            )


def check_streams(name: str, path: str, node: Node, dims: Dims) -> None:
    """Check that a generator has the dims over which a loop or branch is batched.

    Raises
    ------
    DimError
        If positions would share a stream.
    """
    lacking = without(dims, node.dims)
    if lacking and is_words(node):
        splits = "".join(f".split({dim._short})" for dim in lacking)
        raise DimError(
            f"{name}: all positions along {dim_set(lacking)} would draw the same numbers, "
            "because they share one generator",
            [("generator", path)],
            f"give each its own: rng{splits}",
        )


def _user_frame() -> FrameType | None:
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("dimtensor."):
        frame = frame.f_back
    return frame


def _place(frame: FrameType | None) -> str:
    """Describe the line of the user's code that draws, for error messages."""
    if frame is None:
        return ""
    return f" in line {frame.f_lineno} of {frame.f_code.co_filename.rsplit('/', 1)[-1]}"


def _name_of(value: Any, frame: FrameType | None) -> str:
    """Return the name of the user's variable that holds a value."""
    known = {} if frame is None else {**frame.f_globals, **frame.f_locals}
    return next((name for name, x in known.items() if x is value and name[0] != "_"), "rng")
