"""Steps from loops to loops: strip mining, unroll and jam, lazy calls, sums in blocks."""
