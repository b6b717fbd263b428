"""Pictures of graphs and plate diagrams of models."""

from dimtensor.model.model import Model
from dimtensor.plugins.pictures.inline import model_svg
from dimtensor.plugins.pictures.picture import draw_model
from dimtensor.plugins.pictures.picture import to_graph as to_graph
from dimtensor.plugins.pictures.plates import plan_of
from dimtensor.renderers import picture, plates


@plates.provides(Model)
def _plate_diagram(model: Model, most: int) -> str | None:
    plan = plan_of(model)
    return model_svg(plan) if len(plan.boxes) <= most else None


picture.provides()(to_graph)
picture.provides(Model)(draw_model)
