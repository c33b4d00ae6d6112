"""Help articles as the team writes them."""
