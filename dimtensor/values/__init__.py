"""Values of inputs and outputs: labels, and checks against dims and dtypes."""
