"""Operations on one tensor that change its dims, its elements, or where these lie."""
