"""Names in other libraries, such as PyMC, of functions and arguments with other names here.

Errors of unknown attributes and arguments suggest the name here; ``docs/from-pymc.md`` lists them.
"""

from dimtensor.spellings.arguments import guessed as guessed
from dimtensor.spellings.arguments import spelled as spelled
from dimtensor.spellings.arguments import spelled_methods as spelled_methods
from dimtensor.spellings.attributes import as_variable as as_variable
from dimtensor.spellings.attributes import no_attribute as no_attribute
from dimtensor.spellings.attributes import no_attribute_of_dim as no_attribute_of_dim
from dimtensor.spellings.table import TABLE as TABLE
