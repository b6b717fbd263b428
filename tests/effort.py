"""How many examples each property gets, and which cases of long tests have their turn today.

The examples are those of the profile, or a named share of them.

No other module of the tests says a number of examples, nor asks hypothesis for settings.

========  =====  =======  =======  ===========  ==========
profile   whole  a third  a tenth  a twentieth  a fiftieth
========  =====  =======  =======  ===========  ==========
dev         100       33       10            5           2
ci          300      100       30           15           6
thorough    700      233       70           35          14
========  =====  =======  =======  ===========  ==========

The examples of ``thorough`` are drawn by the day: `make slow` seeds hypothesis with the date of
the last commit, and DIMTENSOR_DAY=2026-01-31 draws those of another day. ``search`` has 3000,
others in every run. With ``dev`` machine code is hardly optimized outside of the tests of the
kernel compiler, see the root's conftest.py.
"""

from __future__ import annotations

import os
import zlib
from collections import defaultdict
from datetime import date

import pytest
from hypothesis import HealthCheck, settings

# Read by the workers of xdist, too. DIMTENSOR_DAY=2026-01-31 repeats the long tests of a day.
DAY = date.fromisoformat(os.environ.setdefault("DIMTENSOR_DAY", date.today().isoformat()))

PROFILES = {"dev": 100, "ci": 300, "thorough": 700, "search": 3000}

for _name, _examples in PROFILES.items():
    settings.register_profile(
        _name,
        # compilation makes single examples slow and uneven: a deadline would only find the compiler
        deadline=None,
        max_examples=_examples,
        # Quick tests judge a change by the same programs every time.
        derandomize=_name in ("dev", "ci"),
        database=None,
        print_blob=True,
        report_multiple_bugs=False,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.filter_too_much,
        ],
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def _share(part: int) -> settings:
    return settings(max_examples=round(settings.default.max_examples / part))


# Properties that build functions of the interpreter, or differentiate programs.
a_third = _share(3)
# Properties of loops.
a_tenth = _share(10)
# Properties of the same in the long tests.
a_twentieth = _share(20)
# Properties that compile each example, or differentiate loops whose bodies are random, too.
a_fiftieth = _share(50)


# From so many cases on a test is more than one day's work. More than twice as many take all days
# that are asked for, and fewer three at most.
_MANY = 9
_FEW_DAYS = 3


def of_today(items: list[pytest.Item], days: int) -> list[pytest.Item]:
    """Of the cases of tests that have many, those of a day: about as many on each."""
    tests = defaultdict(list)
    for item in items:
        tests[item.nodeid.partition("[")[0]].append(item)
    kept: set[str] = set()
    for name, cases in tests.items():
        turns = days if len(cases) > 2 * _MANY else min(days, _FEW_DAYS)
        turns = turns if len(cases) >= _MANY else 1
        first = (DAY.toordinal() + _number(name)) % turns
        # in an order in which parameters that are alike do not follow each other
        kept |= {*sorted((item.nodeid for item in cases), key=_number)[first::turns]}
    return [item for item in items if item.nodeid in kept]


def _number(name: str) -> int:
    return zlib.crc32(name.encode())
