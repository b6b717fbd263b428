"""Private names of other libraries: one module for each, the only users of such names.

``tests/architecture/test_upstream_names.py`` checks that each name exists, so that an upgrade that
removes one fails there. Modules of optional libraries are imported inside functions.
"""
