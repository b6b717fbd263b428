"""From a plan to a function of loops."""
