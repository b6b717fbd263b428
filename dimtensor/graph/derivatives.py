"""Derivatives: nodes that bind the variables of differentiation.

A derivative is taken of the function in its region, at the values of its inputs. Other nodes that
the function depends on are captured. Variables are therefore distinct even if their values are the
same node, or equal a captured node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dimtensor.dims import Dim, Dims, RenamedDim, SelDim, dim_set, mask_keys, union, without
from dimtensor.dims.selection import Mask
from dimtensor.errors import DimError, DtypeError
from dimtensor.graph.attrs import ReduceAttrs
from dimtensor.graph.checking.checks import is_check
from dimtensor.graph.dtypes import is_float
from dimtensor.graph.infer import describe
from dimtensor.graph.node import Node, NodeType, make
from dimtensor.graph.rebuilding.substitute import Replace, expand_node, map_dim, rebuild
from dimtensor.graph.regions import (
    DerivativeAttrs,
    Region,
    bound_masks,
    dependent,
    is_number,
    leaves_like,
    numbered,
    placeholder,
    same_types,
    split_derivative,
    type_of,
)
from dimtensor.graph.uses import by_use
from dimtensor.graph.walk import LEAF_KINDS, toposort

# -- construction ----------------------------------------------------------------------------------


def gradients(y: Node, wrt: Sequence[Node], cotangent: Node | None = None) -> list[Node]:
    """Make the gradients of a scalar, or the cotangents of `wrt` given that of y.

    Raises
    ------
    DimError, DtypeError
        If y is not a scalar, the cotangent has other dims, or a dtype is not floating-point.
    """
    _require_floats("gradient", y, wrt)
    if cotangent is not None:
        union([y.dims, cotangent.dims], "vjp")
        if cotangent.dims != y.dims:
            raise DimError(
                f"vjp: the cotangent has dims {dim_set(cotangent.dims)}, "
                f"the output has {dim_set(y.dims)}"
            )
    elif y.dims:
        raise DimError(
            "the gradient needs a scalar expression",
            [("expression", describe(y))],
            "sum it over its dims, or use dt.jacobian",
        )
    directions = () if cotangent is None else (cotangent,)
    found: dict[Node, Node] = {}
    for group in _unrelated(y, wrt):
        function = _Function.of(y, group)
        for at, x in enumerate(group):
            found[x] = function.derivative("gradient", directions, at)
    return [found[x] for x in wrt]


def gradient_by_pieces(y: Node, x: Node, pieces: Sequence[Node]) -> Node:
    """Make the gradient of a scalar by a vector, which is lowered as the gradients by its pieces.

    Through the selections of n pieces, the gradient would be a sum of n vectors, each of them zero
    outside of one piece.

    Parameters
    ----------
    y, x : Node
    pieces : sequence of Node
        The elements of x in order, each of them in one piece: selections along its one dim, which
        they lack or have another dim in place of.

    Raises
    ------
    DimError, DtypeError
        If y is not a scalar, or a dtype is not floating-point.
    """
    _require_floats("gradient", y, [x])
    if x in toposort([y], stop=pieces):
        pieces = ()
    return _Function.of(y, [x], pieces).derivative("gradient")


def jacobian(y: Node, wrt: Node) -> Node:
    """Make the Jacobian of y with respect to a variable.

    Raises
    ------
    DimError, DtypeError
        If dims clash, or a dtype is not floating-point.
    """
    _require_floats("jacobian", y, [wrt])
    return _Function.of(y, [wrt]).derivative("jacobian")


def pushforward(y: Node, wrt: Sequence[Node], tangents: Sequence[Node]) -> Node:
    """Make the tangent of y, given those of variables.

    Raises
    ------
    DimError, DtypeError
        If a tangent has other dims, or a dtype is not floating-point.
    """
    _require_floats("jvp", y, wrt)
    for x, tangent in zip(wrt, tangents, strict=True):
        if x.dims != tangent.dims:
            raise DimError(
                f"jvp: the tangent has dims {dim_set(tangent.dims)}, "
                f"the input has {dim_set(x.dims)}"
            )
    along: dict[Node, Node] = {}
    for x, tangent in zip(wrt, tangents, strict=True):
        known = along.get(x)
        along[x] = tangent if known is None else make("elemwise", (known, tangent), "add")
    total: Node | None = None
    for group in _unrelated(y, list(along)):
        function = _Function.of(y, group)
        part = function.derivative("pushforward", tuple(along[x] for x in group))
        total = part if total is None else make("elemwise", (total, part), "add")
    assert total is not None
    return total


def _require_floats(what: str, y: Node, wrt: Sequence[Node]) -> None:
    if not is_float(y.dtype):
        raise DtypeError(f"the {what} of {describe(y)} of {y.dtype} is not defined")
    for x in wrt:
        if not is_float(x.dtype):
            raise DtypeError(
                f"the {what} with respect to {describe(x)} of {x.dtype} is not defined"
            )


def _unrelated(y: Node, wrt: Sequence[Node]) -> list[list[Node]]:
    """Group variables so that within a group none depends on another.

    Variables that depend on each other need separate derivatives, each of y as a function of one.
    """
    variables = list(dict.fromkeys(wrt))
    if len(variables) == 1:
        return [variables]
    level: dict[Node, int] = {}
    among = set(variables)
    for node in toposort([*variables, y]):
        below = [level.get(x, 0) for x in (*node.inputs, *_masks_of(node))]
        level[node] = max(below, default=0) + (node in among)
    groups: dict[int, list[Node]] = {}
    for x in variables:
        groups.setdefault(level[x], []).append(x)
    return [groups[number] for number in sorted(groups)]


def _masks_of(node: Node) -> list[Node]:
    return [key for dim in node.dims for key in mask_keys(dim)]


def _masks_of_leaves(nodes: Sequence[Node]) -> set[Node]:
    """Return the masks of dims of inputs and data, which exist along these masked dims only.

    A mask has no derivative, so it can be captured.
    """
    leaves = (node for node in nodes if node.kind in (*LEAF_KINDS, "bound"))
    return {key for leaf in leaves for key in _masks_of(leaf)}


class _Function(NamedTuple):
    """Expression as a function of variables, with the values of its inputs."""

    region: Region
    inputs: tuple[Node, ...]
    n_wrt: int
    checks: tuple[Node, ...]

    @classmethod
    def of(cls, y: Node, wrt: Sequence[Node], pieces: Sequence[Node] = ()) -> _Function:
        """Close an expression over variables that do not depend on each other.

        Checks stay outside of the function, so that they run once. The pieces of a variable are
        further outputs of the region.
        """
        y, checks = _without_checks(y, wrt)
        nodes = toposort([y, *pieces])
        inside = dependent(set(wrt), nodes, _masks_of_leaves(nodes))
        captured = {x for node in inside - set(wrt) for x in node.inputs if x not in inside}
        captured |= {output for output in (y, *pieces) if output not in inside}
        ordered = by_use(y, wrt, {x for x in captured if not is_number(x)})
        masks = bound_masks([node for node in nodes if node in inside], ordered)
        bound = numbered((*wrt, *ordered), masks)
        closed = rebuild([y, *pieces], dict(zip((*wrt, *ordered), bound, strict=True)))
        return cls(Region(tuple(closed), bound), (*wrt, *ordered), len(wrt), tuple(checks))

    def derivative(self, kind: str, directions: tuple[Node, ...] = (), output: int = 0) -> Node:
        attrs = DerivativeAttrs(self.region, self.n_wrt, output)
        node = make(kind, (*self.inputs, *directions), attrs)
        for check in self.checks:
            node = make("check", (node, check.inputs[1]), check.attrs)
        return node


def _without_checks(y: Node, wrt: Sequence[Node]) -> tuple[Node, list[Node]]:
    """Remove the checks that depend on variables from an expression, and return them."""
    inside = dependent(set(wrt), toposort([y])).difference(wrt)
    checks = [node for node in toposort([y]) if node in inside and is_check(node)]
    if not checks:
        return y, []
    dropped = set(checks)

    def drop(node: Node, inputs: tuple[Node, ...]) -> Node | None:
        return inputs[0] if node in dropped else None

    kept = {x: x for x in wrt}
    return rebuild([y], kept, drop, nested=False)[0], checks


# -- derivatives of rewritten functions ------------------------------------------------------------


def laid_open(node: Node) -> tuple[Node, tuple[Node, ...]] | None:
    """Return the differentiated expression with captured nodes inserted, and its variables.

    Returns None if the region contains a captured mask.
    """
    attrs: DerivativeAttrs = node.attrs
    region = attrs.region
    if any(leaf.kind != "bound" for leaf in region.bound):
        return None
    given = split_derivative(attrs, node.inputs)
    wrt = tuple(placeholder(x.dims, x.dtype, x.categories) for x in given.wrt)
    values = dict(zip(region.bound, (*wrt, *given.captured), strict=True))
    return rebuild(region.outputs, values)[0], wrt


def derivative_like(node: Node, y: Node, wrt: Sequence[Node], given: Sequence[Node]) -> Node:
    """Make the derivative of another function at the same values.

    Parameters
    ----------
    node : Node
        A derivative.
    y : Node
        The function, in terms of `wrt`, see :func:`laid_open`.
    wrt : sequence of Node
    given : sequence of Node
        Values of the variables, and then cotangents or tangents.
    """
    attrs: DerivativeAttrs = node.attrs
    function = _Function.of(y, wrt)
    n = attrs.n_wrt
    inputs = (*given[:n], *function.inputs[n:], *given[n:])
    return make(node.kind, inputs, DerivativeAttrs(function.region, n, attrs.output))


# -- inference -------------------------------------------------------------------------------------


def outer_dims(attrs: DerivativeAttrs, inputs: Sequence[Node], dims: Dims) -> Dims:
    """Translate dims of a region to dims outside: masks in the region depend on its variables."""
    inside = [key for dim in dims for key in mask_keys(dim) if key not in attrs.region.bound]
    if not inside:
        return dims
    values = dict(zip(attrs.region.bound, inputs, strict=False))
    outside = dict(zip(inside, rebuild(inside, values), strict=True))
    mapping: dict[Dim, Dim] = {}
    for dim in dims:
        _map_masks(dim, outside, mapping)
    return tuple(map_dim(dim, mapping) for dim in dims)


def _map_masks(dim: Dim, keys: Mapping[Node, Node], mapping: dict[Dim, Dim]) -> None:
    for parent in dim.parents:
        _map_masks(parent, keys, mapping)
    if isinstance(dim, SelDim) and isinstance(dim.selection, Mask) and dim.selection.key in keys:
        mask = Mask(keys[dim.selection.key])
        mapping[dim] = SelDim._from(map_dim(dim.parent, mapping), mask)


def jacobian_dims(y: Dims, wrt: Dims) -> tuple[tuple[Dim, Dim], ...]:
    """Return renames for the dims of `wrt` that clash with dims of `y`."""
    taken = {dim._namespace for dim in y}
    renames = []
    for dim in wrt:
        new = dim
        while new._namespace in taken:
            if new.name is None:
                raise DimError("jacobian: an anonymous dim is in output and input; rename it")
            new = RenamedDim(new, new.name + "'")
        taken.add(new._namespace)
        if new is not dim:
            renames.append((dim, new))
    return tuple(renames)


def jacobian_renames(node: Node) -> tuple[tuple[Dim, Dim], ...]:
    """Return the renamed dims of a Jacobian's variable."""
    (y,) = node.attrs.region.outputs
    return jacobian_dims(outer_dims(node.attrs, node.inputs, y.dims), node.inputs[0].dims)


def closed_type(inputs: tuple[Node, ...], attrs: DerivativeAttrs) -> NodeType:
    """Return the type of the differentiated expression, with dims as outside of the region."""
    given = inputs[: len(attrs.region.bound)]
    same_types("an input", map(type_of, attrs.region.bound), map(type_of, given))
    y = attrs.region.outputs[0]
    return NodeType(outer_dims(attrs, inputs, y.dims), y.dtype)


# -- rebuilding with other inputs ------------------------------------------------------------------


def rebuilt_derivative(
    node: Node, inputs: tuple[Node, ...], mapping: Mapping[Dim, Dim], replace: Replace | None
) -> list[Node]:
    """Rebuild all outputs of a derivative with other inputs, which may have additional dims.

    Positions along additional dims are independent, so the gradient of the sum over them has the
    gradient of each position.
    """
    attrs: DerivativeAttrs = node.attrs
    given = split_derivative(attrs, inputs)
    before = outer_dims(attrs, node.inputs, attrs.region.outputs[0].dims)
    known = {map_dim(dim, mapping) for dim in before}
    known |= {map_dim(dim, mapping) for dim in attrs.region.outputs[0].dims}
    wrt, directions = given.wrt, given.directions
    region, own = _region_at(attrs.region, (*wrt, *given.captured), mapping, replace)
    y, *pieces = region.outputs
    if node.kind == "pushforward":
        pairs = zip(wrt, directions, strict=True)
        extra = union([(), *(without(t.dims, x.dims) for x, t in pairs)], "jvp")
    else:
        extra = tuple(dim for dim in y.dims if dim not in known | own)
    if node.kind == "gradient" and directions:
        more = tuple(dim for dim in directions[0].dims if dim not in known)
        extra = union([extra, more], "vjp")
    expanded = tuple(expand_node(x, extra) for x in wrt)
    if expanded != wrt:
        region, _ = _region_at(attrs.region, (*expanded, *given.captured), mapping, replace)
        y, *pieces = region.outputs
    if node.kind == "pushforward":
        directions = tuple(
            expand_node(t, x.dims) for x, t in zip(expanded, directions, strict=True)
        )
    elif node.kind == "gradient" and directions:
        y = expand_node(y, extra)
        directions = (expand_node(directions[0], extra),)
    else:
        batch = tuple(dim for dim in y.dims if dim in extra)
        y = make("reduce", (y,), ReduceAttrs("sum", batch)) if batch else y
    attrs = attrs._replace(region=region._replace(outputs=(y, *pieces)), output=0)
    results = attrs.n_wrt if node.kind == "gradient" else 1
    inputs = (*expanded, *given.captured, *directions)
    return [make(node.kind, inputs, attrs._replace(output=at)) for at in range(results)]


def _region_at(
    region: Region, inputs: Sequence[Node], mapping: Mapping[Dim, Dim], replace: Replace | None
) -> tuple[Region, set[Dim]]:
    """Rebuild a region for other inputs; return it with the replaced dims of its own masks."""
    bound = leaves_like(region.bound, inputs)
    changed = dict(mapping)
    outputs = rebuild(region.outputs, dict(zip(region.bound, bound, strict=True)), replace, changed)
    own = {changed[dim] for dim in changed if dim not in mapping}
    own |= {map_dim(dim, changed) for output in region.outputs for dim in output.dims}
    return Region(tuple(outputs), bound), own


# -- printing --------------------------------------------------------------------------------------


def opened(node: Node) -> Node | None:
    """Return the differentiated expression in terms of its inputs, if it identifies the derivative.

    It does not if values coincide, as in the derivative of ``x * y`` by x alone at equal x and y.
    """
    attrs: DerivativeAttrs = node.attrs
    given = split_derivative(attrs, node.inputs)
    values = dict(zip(attrs.region.bound, node.inputs, strict=False))
    y, *pieces = rebuild(attrs.region.outputs, values)
    if len(set(given.wrt)) < len(given.wrt) or any(map(is_number, given.wrt)):
        return None
    again = _Function.of(y, given.wrt, pieces)
    same = again.region == attrs.region and again.inputs == (*given.wrt, *given.captured)
    return y if same and not again.checks else None
