"""Chains of JAX in blocks of draws: their programs, on one device or several, and their results."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dimtensor.backends.jax.devices import fetch
from dimtensor.compile.devices.mesh import CHAIN, Placement
from dimtensor.tuning import JAX_BLOCK, JAX_BLOCK_OF_DEVICES, JAX_BLOCK_SECONDS


class Programs(NamedTuple):
    """Programs of all chains.

    Attributes
    ----------
    begin : callable
        From the number of the run (:func:`~dimtensor.interop.watching.tell_step`), a key and a
        start for each chain, and the data to a state, and draws during tuning or None.
    block : callable
        From a number of draws, at most ``JAX_BLOCK``, a state, and the data to a state and arrays
        that begin with so many draws, as :func:`repeated` returns them.
    """

    begin: Callable[..., Any]
    block: Callable[..., Any]


def repeated(step: Callable[[Any], Any], state: Any, count: Any) -> tuple[Any, Any]:
    """Repeat a step some number of times, which is known when the program runs.

    Parameters
    ----------
    step : callable
        From a state to a state and results.
    state : pytree
    count : int
        At most ``JAX_BLOCK``.

    Returns
    -------
    state : pytree
    results : pytree
        Arrays with ``JAX_BLOCK`` rows, of which the first `count` are results.
    """
    import jax

    _, results = jax.eval_shape(step, state)
    empty = jax.tree.map(lambda x: jax.numpy.zeros((JAX_BLOCK, *x.shape), x.dtype), results)

    def again(carry: Any) -> Any:
        at, state, rows = carry
        state, results = step(state)
        put = jax.lax.dynamic_update_index_in_dim
        return at + 1, state, jax.tree.map(lambda x, row: put(x, row, at, 0), rows, results)

    start = (jax.numpy.zeros_like(count), state, empty)
    _, state, rows = jax.lax.while_loop(lambda carry: carry[0] < count, again, start)
    return state, rows


class Gathered:
    """Draws of blocks, in arrays that have room for all of them.

    Parameters
    ----------
    chain_axis : int
        Axis of blocks that counts chains; the other one of the first two counts draws.
    chains : int
        Further ones of a block are left out.
    length : int
        Number of draws.

    Attributes
    ----------
    number : int
        Number of draws so far.
    """

    def __init__(self, chain_axis: int, chains: int, length: int) -> None:
        self.number = 0
        self._swapped = chain_axis == 1
        self._chains = chains
        self._length = length
        self._room: Any = None

    def add(self, block: Any, count: int) -> None:
        """Add the first draws of a block."""
        import jax

        def rows(x: Any) -> np.ndarray:
            found = fetch(x)
            return (found.swapaxes(0, 1) if self._swapped else found)[: self._chains, :count]

        def room(x: np.ndarray) -> np.ndarray:
            return np.empty((self._chains, self._length, *x.shape[2:]), x.dtype)

        def put(into: np.ndarray, x: np.ndarray) -> None:
            into[:, self.number : self.number + count] = x

        found = jax.tree.map(rows, block)
        if self._room is None:
            self._room = jax.tree.map(room, found)
        jax.tree.map(put, self._room, found)
        self.number += count

    def made(self) -> Any:
        """Return the draws so far, with the axes chain and draw first."""
        import jax

        return jax.tree.map(lambda x: x[:, : self.number], self._room)


def in_blocks(
    block: Callable[..., Any],
    state: Any,
    fixed: Sequence[Any],
    wanted: Mapping[Gathered | None, int],
    done: int,
    on_devices: bool,
) -> Iterator[int]:
    """Draw in blocks, each of which takes a moment.

    Parameters
    ----------
    block : callable
    state : pytree
    fixed : sequence of array
    wanted : dict of Gathered or None to int
        Numbers of draws, and where they are kept.
    done : int
        Number of draws before.
    on_devices : bool
        Whether several devices, and processes, compute the same blocks. Devices wait for each other
        at their ends, and blocks do not depend on time.

    Yields
    ------
    int
        Number of draws so far, after each block.
    """
    import jax

    fitting = JAX_BLOCK_OF_DEVICES if on_devices else 1
    for kept, number in wanted.items():
        left = number
        while left:
            count = min(fitting, left)
            started = time.perf_counter()
            state, draws = jax.block_until_ready(block(count, state, *fixed))
            seconds = time.perf_counter() - started
            if kept is not None:
                kept.add(draws, count)
            left, done = left - count, done + count
            if not on_devices:
                most = min(2 * count, JAX_BLOCK)
                fitting = min(most, max(1, int(count * JAX_BLOCK_SECONDS / seconds)))
            yield done


def placeholders(compiled: Any) -> Any:
    """Return abstract arrays for the results of a compiled program, to compile another one."""
    import jax

    return jax.tree.map(
        lambda x, sharding: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding),
        compiled.out_info,
        compiled.output_shardings,
    )


class ChainsOnDevices:
    """Chains on a mesh: each device, or each group of devices that share data, runs some of them.

    If their number is not a multiple, some devices run copies of the last chain. These take as long
    as the chains of the others, and are discarded.

    Parameters
    ----------
    of_data, of_chains : Placement or None
        Without a placement of chains, all devices compute the log density of each chain together.
    axis : int
        Axis of results that counts chains.
    chains : int
    """

    def __init__(
        self, of_data: Placement | None, of_chains: Placement | None, axis: int, chains: int
    ):
        placement = of_chains or of_data
        assert placement is not None
        self.mesh = placement.mesh
        self._axes = None if of_chains is None else of_chains.axes[CHAIN]
        self._groups = math.prod(self.mesh.shape[name] for name in self._axes or ())
        self._axis = axis
        self._chains = chains

    @property
    def devices(self) -> tuple[int, int]:
        """Number of devices in all, and number of devices of a group of chains."""
        return self.mesh.size, self.mesh.size // self._groups

    def put(self, x: Any) -> Any:
        """Place keys or starts of chains on the devices."""
        import jax

        rows = np.arange(-(-self._chains // self._groups) * self._groups)
        sharding = jax.sharding.NamedSharding(self.mesh, jax.P(self._axes))
        return jax.device_put(x[np.minimum(rows, self._chains - 1)], sharding)

    def mapped(self, programs: Programs, fixed: Sequence[Any]) -> Programs:
        """Map programs of the chains of a device over the mesh."""
        import jax

        def begin(number: Any, *arguments: Any) -> Any:
            group = 0 if self._axes is None else jax.lax.axis_index(self._axes)
            return programs.begin(jax.numpy.stack([number, group]), *arguments)

        data = tuple(x.sharding.spec if _is_placed(x) else jax.P() for x in fixed)
        chains = jax.P(self._axes)
        results = chains, jax.P(*[None] * self._axis, self._axes)

        def on_mesh(program: Callable[..., Any], *specs: Any) -> Callable[..., Any]:
            mapped: Callable[..., Any] = jax.shard_map(
                program,
                mesh=self.mesh,
                in_specs=(*specs, *data),
                out_specs=results,
                check_vma=False,
            )
            return mapped

        return Programs(
            on_mesh(begin, jax.P(), chains, chains), on_mesh(programs.block, jax.P(), chains)
        )


def _is_placed(x: Any) -> bool:
    import jax

    return isinstance(getattr(x, "sharding", None), jax.sharding.NamedSharding)
