"""Samplers that are programs of JAX: their base class, the density, and where chains start."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dimtensor.arrays import check_whole
from dimtensor.backends.progress import announced
from dimtensor.compile.devices.mesh import Placement
from dimtensor.errors import ArgumentError, OptionError
from dimtensor.extras import require
from dimtensor.interop.jax_blocks import (
    ChainsOnDevices,
    Gathered,
    Programs,
    in_blocks,
    placeholders,
)
from dimtensor.interop.watching import watch
from dimtensor.model.functions import ON_DEVICES
from dimtensor.model.inference.raised import REFUSED, computation_error
from dimtensor.model.inference.runs import PARTIAL, Draws, Run
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
    """No-U-Turn sampler of a library on JAX, which runs all chains in one program.

    Attributes
    ----------
    name : str
        Of the library, and of the extra that installs it.
    chain_axis : int
        Axis of draws that counts chains; the other one of the first two counts draws.
    tunes_in_blocks : bool
        Whether tuning is in blocks, too.
    keeps_warmup : bool
    """

    name: str
    chain_axis: int
    tunes_in_blocks = False
    keeps_warmup = False
    on_devices = True

    @abstractmethod
    def programs(
        self, density: PureDensity, settings: SamplerSettings, tune: int, options: Options
    ) -> Programs:
        """Make the programs of all chains."""

    @abstractmethod
    def draws_of(self, found: Any, maxdepth: int) -> Draws:
        """Turn results of the programs, chains first, into draws."""

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
                self.name, tune, chains, settings.save_warmup, options, of_data,
                of_chains,
            )  # fmt: skip
            programs, devices = self.programs(density, settings, tune, options), (1, 1)
            if of_data is not None or of_chains is not None:
                placed = ChainsOnDevices(of_data, of_chains, self.chain_axis, chains)
                on_device = density._replace(function=density.of_device)
                pure = self.programs(on_device, settings, tune, options)
                programs = placed.mapped(pure, density.fixed)
                keys, starts, devices = placed.put(keys), placed.put(starts), placed.devices
            fixed = density.fixed
            begin = kept_program(
                model, density, ("begin", *key), lambda: programs.begin, 0, keys, starts, *fixed
            )
            state, _ = placeholders(begin)
            block = kept_program(
                model, density, ("block", *key), lambda: programs.block, 0, state, *fixed
            )
            warmup, drawn = (Gathered(self.chain_axis, chains, n) for n in (tune, settings.draws))
            kept = warmup if settings.save_warmup else None
            started = time.perf_counter()

            def work(number: int) -> Iterator[int]:
                state, before = begin(number, keys, starts, *fixed)
                state = jax.block_until_ready(state)
                tuned = 0 if self.tunes_in_blocks else tune
                if before is not None:
                    warmup.add(before, tune)
                yield tuned
                later: dict[Gathered | None, int] = {kept: tune - tuned, drawn: settings.draws}
                yield from in_blocks(block, state, fixed, later, tuned, devices[0] > 1)

            def run() -> Run:
                seconds = time.perf_counter() - started
                attributes = {
                    "inference_library": self.name,
                    "inference_library_version": library.__version__,
                }
                draws = self.draws_of(drawn.made(), options.maxdepth)
                before = None if kept is None else self.draws_of(kept.made(), options.maxdepth)
                return Run(draws, before, seconds, attributes)

            total, label = tune + settings.draws, f"{chains} chains"
            try:
                with errors_named(model):
                    watch(work, total, label, settings.progress_bar, *devices)
            except BaseException as error:
                if drawn.number:
                    with suppress(Exception):
                        error.__dict__[PARTIAL] = run()
                raise
        return run()


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
        with announced("a sampler"):
            compiled = jax.jit(make()).lower(*example).compile()
        kept = shared[name] = (density.identity, compiled)
    return kept[1]
