"""What is found by name or words besides records: searches that are saved, help, what others call things."""
