"""Rules of operations: elements as expressions, and other operations as loops of their own."""
