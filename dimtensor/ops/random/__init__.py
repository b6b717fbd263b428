"""Random draws on positional variables: a generator is an array of words, in and out."""
