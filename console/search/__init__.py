"""The pages of the help, and words of other helpdesks."""
