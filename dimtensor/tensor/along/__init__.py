"""Operations along the order of a dim: windows, blocks, gaps, slopes, ranks, dates."""
