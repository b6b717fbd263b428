"""Values on their way in and out: how they are labelled, and whether they fit dims and dtypes."""
