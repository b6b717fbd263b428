"""Code that is kept: fingerprints, descriptions, graphs made of them, and where entries lie."""
