"""Groups of methods that models and their log densities consist of."""
