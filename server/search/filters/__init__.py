"""Kinds of filter, one file each: what `name:value` of a search may hold and which condition it means."""
