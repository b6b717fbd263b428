"""Steps from loops to loops: strip mining, unroll and jam, sums in blocks."""
