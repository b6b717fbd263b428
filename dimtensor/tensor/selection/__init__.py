"""Selection by labels and positions, updates, grouping, reindexing."""
