"""Arrays with their axes as a problem has them, for a function that has planned others."""

import numpy as np


def as_written(function, dims, arguments):
    """A call and its arguments; it gives a value and gradients by the arguments.

    `dims` are those of each argument in the order of its axes.
    """
    planned = function.positional.input_dims
    turns = [[given.index(dim) for dim in plan] for given, plan in zip(dims, planned, strict=True)]
    if all(turn == sorted(turn) for turn in turns):
        return function.positional, arguments
    back = [np.argsort(turn) for turn in turns]

    def call(*arguments):
        value, *gradients = function.positional(*arguments)
        return value, *(g.transpose(axes) for g, axes in zip(gradients, back, strict=True))

    pairs = zip(arguments, turns, strict=True)
    return call, tuple(np.ascontiguousarray(np.transpose(x, turn)) for x, turn in pairs)
