"""Cards of models, distributions and what checks of models find."""
