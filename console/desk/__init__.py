"""What the pages of tickets are put together from: the conversation, the form of an answer, the lists of the inbox."""
