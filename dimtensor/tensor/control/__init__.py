"""Control flow: loops along dims or until a condition holds, conditionals, ODEs."""
