"""Operations that change the dims, the elements or the order of elements of one tensor."""
