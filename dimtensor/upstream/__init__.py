"""What other libraries do not promise to keep: one module for each, the only users of such names.

``tests/architecture/test_upstream_names.py`` asks for each of them, so that an upgrade that takes
one away fails there and says so. Modules of optional libraries are imported inside of functions.
"""
