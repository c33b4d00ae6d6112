"""What project boards and their columns share: the order of columns, and cards."""
