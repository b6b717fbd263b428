"""Registration of renderers: texts, HTML cards and pictures by class."""

from collections.abc import Callable
from typing import Any

from dimtensor.compile.function import CompiledFunction
from dimtensor.display.cards.generative import model_html, model_text
from dimtensor.display.cards.logdensity import density_html, density_text
from dimtensor.display.cards.results import (
    calibration_html,
    cross_validation_html,
    distribution_html,
)
from dimtensor.display.cards.tables import frame_html
from dimtensor.display.html import function_html, tensor_html
from dimtensor.display.plots import ModelPlots, summary
from dimtensor.display.ranks import calibration_figure
from dimtensor.display.text import tensor_text
from dimtensor.dist.distribution import Distribution
from dimtensor.errors import printable
from dimtensor.model.checking.calibrate import Calibration
from dimtensor.model.checking.cross_validate import CrossValidation
from dimtensor.model.logdensity import LogDensity
from dimtensor.model.model import Model
from dimtensor.renderers import html, picture, plots, summaries, text
from dimtensor.tensor.handle import TensorHandle
from dimtensor.tensor.tables.frame import Frame

_TEXTS: dict[type, Callable[[Any], str]] = {
    TensorHandle: tensor_text,
    LogDensity: density_text,
    Model: model_text,
}
_CARDS: dict[type, Callable[[Any], str]] = {
    TensorHandle: tensor_html,
    CompiledFunction: function_html,
    Distribution: distribution_html,
    LogDensity: density_html,
    Model: model_html,
    Frame: frame_html,
    Calibration: calibration_html,
    CrossValidation: cross_validation_html,
}
for _class, _function in _TEXTS.items():
    text.provides(_class)(printable(_function))
for _class, _function in _CARDS.items():
    html.provides(_class)(_function)

picture.provides(Calibration)(calibration_figure)
plots.provides(Model)(ModelPlots)
summaries.provides(Model)(summary)
