"""How operations are written: elements as expressions, others as loops of their own."""
