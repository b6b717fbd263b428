"""Names that PyMC and its like have for what has another name here: one table of both.

Errors of unknown attributes and arguments answer with it, and ``docs/from-pymc.md`` shows it.
"""

from dimtensor.spellings.arguments import spelled as spelled
from dimtensor.spellings.arguments import spelled_methods as spelled_methods
from dimtensor.spellings.attributes import as_variable as as_variable
from dimtensor.spellings.attributes import no_attribute as no_attribute
from dimtensor.spellings.attributes import no_attribute_of_dim as no_attribute_of_dim
from dimtensor.spellings.table import TABLE as TABLE
