"""Which of PyTensor's rewrites graphs go through, on every backend."""

from __future__ import annotations

# what writes over arrays; what is for its C code, which looks for a BLAS to link and warns where
# there is none; what is wrong: it takes x // 1 for x also where x is a float; and what makes
# functions of whole powers that backends know nothing of
UNWANTED = ("inplace", "fusion", "cxx_only", "local_div_by_one", "local_pow_to_nested_squaring")
