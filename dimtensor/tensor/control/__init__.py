"""Control flow: loops along dims, while loops, conditionals and ODE solvers."""
