"""Samplers that are programs of JAX: their base class, the density, and where chains start."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dimtensor.arrays import check_whole
from dimtensor.backends.jax.devices import fetch
from dimtensor.compile.devices.mesh import CHAIN, Placement
from dimtensor.errors import ArgumentError, OptionError
from dimtensor.extras import require
from dimtensor.interop.watching import watch
from dimtensor.model.functions import ON_DEVICES
from dimtensor.model.inference.raised import REFUSED, computation_error
from dimtensor.model.inference.runs import Draws, Run
from dimtensor.model.inference.samplers import SamplerSettings
from dimtensor.model.inference.starts import are_finite, check_moved, no_start, starting_points
from dimtensor.spellings import guessed

if TYPE_CHECKING:
    from dimtensor.model.logdensity import LogDensity

# Default number of tuning draws.
TUNE = 1000


class PureDensity(NamedTuple):
    """A log density as a pure function.

    Attributes
    ----------
    function : callable
        Of a vector and, after it, of the arrays in `fixed`.
    fixed : tuple of array
        Data and lengths.
    identity : object
        Compiled code of the function: equal for models that differ in data only.
    of_device : callable
        The same as `function`, within a ``jax.shard_map`` over the devices that hold the data.
    """

    function: Callable[..., Any]
    fixed: tuple[Any, ...]
    identity: Any
    of_device: Callable[..., Any]


def pure_density(model: LogDensity, placement: Placement | None = None) -> PureDensity:
    """Return the log density for JAX: -inf where a check fails, as a pure function cannot raise.

    Parameters
    ----------
    model : LogDensity
    placement : Placement, optional
        On devices. Value and gradient are computed together then, so that an evaluation has one
        all-reduce.
    """
    if model.functions.evaluator is not None:
        return _through_python(model)
    if placement is not None:
        return _density_on_devices(model, placement)
    positional = model.functions.get("logp_on_jax").positional
    fixed = (*model.functions.late_lengths("logp_on_jax"), *positional.fixed)
    function = impossible_where_checks_fail(positional.raw)
    return PureDensity(function, fixed, positional.raw, function)


def impossible_where_checks_fail(pure: Callable[..., Any]) -> Callable[..., Any]:
    """Return the value of a function, -inf where one of its checks fails."""
    import jax

    def exact(*arguments: Any) -> Any:
        value, *fine = pure(*arguments)
        for one in fine:
            value = jax.numpy.where(one, value, -jax.numpy.inf)
        return value

    return exact


def _through_python(model: LogDensity) -> PureDensity:
    """Return a log density that Python computes, with the gradient of the same call."""
    import jax

    from dimtensor.backends.jax.special import as_bits, as_floats

    evaluate = model.functions.positional("logp_and_grad")
    results = [jax.ShapeDtypeStruct((*shape, 2), "uint32") for shape in ((), (model.size,))]

    def on_host(bits: Any) -> list[np.ndarray]:
        try:
            found = evaluate(np.require(as_floats(np.asarray(bits)), requirements=["C", "A"]))
        except REFUSED:
            found = np.asarray(-np.inf), np.zeros(model.size)
        return [as_bits(np.asarray(each)) for each in found]

    def both(x: Any) -> Any:
        # arrays of 64 bits would lose half of them where a callback's thread has JAX's default
        bits = jax.lax.bitcast_convert_type(x, "uint32")
        found = jax.pure_callback(on_host, results, bits, vmap_method="sequential")
        return [jax.lax.bitcast_convert_type(each, "float64") for each in found]

    @jax.custom_jvp
    def exact(x: Any) -> Any:
        return both(x)[0]

    @exact.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        value, gradient = both(*primals)
        return value, jax.numpy.dot(gradient, *tangents)

    return PureDensity(exact, (), model.functions.evaluator, exact)


def _density_on_devices(model: LogDensity, placement: Placement) -> PureDensity:
    positional = model.functions.get(ON_DEVICES, placement).positional
    pure, of_device = positional.raw, positional.executable.of_device
    assert of_device is not None
    fixed = (*model.functions.late_lengths(ON_DEVICES), *positional.fixed)
    return PureDensity(_with_gradient(pure), fixed, pure, _with_gradient(of_device))


def _with_gradient(pure: Callable[..., Any]) -> Callable[..., Any]:
    """Return the value of a function of value and gradient, which JAX differentiates by it."""
    import jax

    def value_and_gradient(x: Any, *fixed: Any) -> tuple[Any, Any]:
        value, gradient, *fine = pure(x, *fixed)
        for one in fine:
            value = jax.numpy.where(one, value, -jax.numpy.inf)
        return value, gradient

    @jax.custom_jvp
    def density(x: Any, *fixed: Any) -> Any:
        return value_and_gradient(x, *fixed)[0]

    @density.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        value, gradient = value_and_gradient(*primals)
        return value, jax.numpy.dot(gradient, tangents[0])

    return density


@contextmanager
def errors_named(model: LogDensity, point: np.ndarray | None = None) -> Iterator[None]:
    """Let errors of callbacks to Python name the expression that raises them, in a context.

    Raises
    ------
    ComputationError
        If a callback raised an error, which is the cause.
    """
    import jax

    from dimtensor.upstream.jax import callback_errors

    with callback_errors() as raised:
        try:
            yield
        except jax.errors.JaxRuntimeError:
            if not raised:
                raise
            raise computation_error(model, raised[0], point) from raised[0]


class Options(NamedTuple):
    """Options of the No-U-Turn samplers on JAX."""

    target_accept: float = 0.8
    maxdepth: int = 10
    dense_mass: bool = False


def read_options(options: Mapping[str, Any], sampler: str, own: Sequence[str]) -> Options:
    """Read the options of a sampler on JAX.

    Raises
    ------
    ArgumentError
        If there is no such option.
    OptionError
        If the value is not one that it takes.
    """
    for name in options:
        if name not in Options._fields:
            guess = guessed(name, [*own, *Options._fields])
            raise ArgumentError(
                f"sample has no option {name!r}{guess}",
                [("options", ", ".join(own)), (f"of {sampler}", ", ".join(Options._fields))],
            )
    found = Options(**options)
    accept = found.target_accept
    if not isinstance(accept, (int, float)) or not 0.0 < accept < 1.0:
        raise OptionError(f"sample: target_accept is between 0 and 1, not {accept!r}")
    check_whole("sample", maxdepth=found.maxdepth)
    if not isinstance(found.dense_mass, bool):
        raise OptionError(f"sample: dense_mass is True or False, not {found.dense_mass!r}")
    return found


class JaxSampler(ABC):
    """No-U-Turn sampler of a library on JAX, whose chains are one compiled program.

    Attributes
    ----------
    name : str
        Of the library, and of the extra that installs it.
    chain_axis : int
        Axis of all results of the program that counts chains.
    keeps_warmup : bool
    """

    name: str
    chain_axis: int
    keeps_warmup = False
    on_devices = True

    @abstractmethod
    def program(
        self, density: PureDensity, settings: SamplerSettings, tune: int, options: Options
    ) -> Callable[..., Any]:
        """Make the program of all chains.

        Returns
        -------
        callable
            Function of the number of the run (:func:`~dimtensor.interop.watching.tell_step`), a key
            and a start for each chain, and the data: what `draws_of` takes, after and during
            tuning; None for the latter where it is not kept.
        """

    @abstractmethod
    def draws_of(self, found: Any, maxdepth: int) -> Draws:
        """Turn results of the program into draws."""

    def prepare(self, options: Mapping[str, Any], known: Sequence[str]) -> Callable[..., Run]:
        """Check the options; see :class:`dimtensor.model.inference.samplers.Sampler`."""
        require(self.name, self.name, self._user)
        return partial(self._run, read_options(options, self.name, known))

    @property
    def _user(self) -> str:
        return f"dt.sample with sampler={self.name!r}"

    def _run(
        self, options: Options, model: LogDensity, start: np.ndarray, settings: SamplerSettings
    ) -> Run:
        tune = TUNE if settings.tune is None else settings.tune
        chains, seed = settings.chains, settings.seed
        jax = require("jax", "jax", self._user)
        library = require(self.name, self.name, self._user)
        if settings.cores is not None:
            raise OptionError(
                f"sample: cores are of nutpie; {self.name} runs all chains as one program",
                hint=f"leave cores={settings.cores} out",
            )
        with jax.enable_x64(True):
            density = pure_density(model, settings.placement)
            starts = starts_of(model, density, start, chains, seed)
            keys = jax.random.split(jax.random.key(seed), chains)
            of_data, of_chains = settings.placement, settings.chain_placement
            key = (
                self.name, settings.draws, tune, chains, settings.save_warmup, options, of_data,
                of_chains,
            )  # fmt: skip
            make, devices = partial(self.program, density, settings, tune, options), (1, 1)
            if of_data is not None or of_chains is not None:
                placed = ChainsOnDevices(of_data, of_chains, self.chain_axis, chains)
                on_device = density._replace(function=density.of_device)
                pure = self.program(on_device, settings, tune, options)
                make = partial(placed.mapped, pure, density.fixed)
                keys, starts, devices = placed.put(keys), placed.put(starts), placed.devices
            arguments = (keys, starts, *density.fixed)
            program = kept_program(model, density, key, make, 0, *arguments)
            started = time.perf_counter()
            total, label = tune + settings.draws, f"{chains} chains"
            with errors_named(model):
                found = watch(program, arguments, total, label, settings.progress_bar, *devices)
            after, before = jax.tree.map(fetch, found)
            seconds = time.perf_counter() - started
        warmup = None if before is None else self.draws_of(before, options.maxdepth)
        attributes = {
            "inference_library": self.name,
            "inference_library_version": library.__version__,
        }
        return Run(self.draws_of(after, options.maxdepth), warmup, seconds, attributes)


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

    def mapped(self, program: Callable[..., Any], fixed: Sequence[Any]) -> Callable[..., Any]:
        """Map a program of the chains of a device over the mesh."""
        import jax

        def on_device(number: Any, *arguments: Any) -> Any:
            group = 0 if self._axes is None else jax.lax.axis_index(self._axes)
            return program(jax.numpy.stack([number, group]), *arguments)

        chains = jax.P(self._axes)
        specs = (x.sharding.spec if _is_placed(x) else jax.P() for x in fixed)
        on_devices = jax.shard_map(
            on_device,
            mesh=self.mesh,
            in_specs=(jax.P(), chains, chains, *specs),
            out_specs=jax.P(*[None] * self._axis, self._axes),
            check_vma=False,
        )

        def mapped(*arguments: Any) -> Any:
            own = (*[slice(None)] * self._axis, slice(self._chains))
            return jax.tree.map(lambda x: x[own], on_devices(*arguments))

        return mapped


def _is_placed(x: Any) -> bool:
    import jax

    return isinstance(getattr(x, "sharding", None), jax.sharding.NamedSharding)


def starts_of(
    model: LogDensity, density: PureDensity, start: np.ndarray, chains: int, seed: int
) -> np.ndarray:
    """Find starts of chains around a point, with finite density and gradient.

    Raises
    ------
    CheckError
        If there is no such point.
    """
    import jax

    value_and_gradient = jax.jit(jax.value_and_grad(density.function))

    def at(point: np.ndarray) -> Any:
        with errors_named(model, point):
            return jax.block_until_ready(value_and_gradient(point, *density.fixed))

    rng = np.random.default_rng(seed)
    points = starting_points(start, at)
    found = [points(rng) for _ in range(chains)]
    values, gradients = zip(*map(at, found), strict=True)
    if not all(map(are_finite, values, gradients)):
        raise no_start(model, start)
    check_moved(model.names, gradients)
    return np.array(found)


def kept_program(
    model: LogDensity, density: PureDensity, key: Any, make: Callable[[], Any], *example: Any
) -> Any:
    """Return a function compiled for arguments, shared by models that differ in data only."""
    import jax

    shared = model.functions.shared
    name = f"program of a sampler {key}"
    kept = shared.get(name)
    if kept is None or kept[0] is not density.identity:
        kept = shared[name] = (density.identity, jax.jit(make()).lower(*example).compile())
    return kept[1]
