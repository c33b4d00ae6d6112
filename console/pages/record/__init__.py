"""The pages of one record of any type."""
