"""What templates and scripts say, in the language of who reads: messages found in them, and put into them."""
