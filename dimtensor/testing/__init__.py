"""Contracts of functions and models; random dims, tensors and arrays, and oracles for tests.

The rest of dimtensor does not import it; :mod:`dimtensor.testing.strategies` needs hypothesis.
"""

from dimtensor.testing.contracts import check_function as check_function
from dimtensor.testing.findings import ContractError as ContractError
from dimtensor.testing.findings import Finding as Finding
from dimtensor.testing.findings import Report as Report
from dimtensor.testing.models import check_model as check_model
