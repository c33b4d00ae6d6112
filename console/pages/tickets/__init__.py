"""The desk: a ticket, its conversation and what is done with it; answers and new tickets."""
