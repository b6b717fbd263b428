"""Operations along ragged dims, for the positions of each parent."""
