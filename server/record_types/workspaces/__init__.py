"""What the record types of workspaces share: what is on pages and tabs, in order, and how much may be on them. The
declarations are records/workspace_*.py; there are no screens for them here."""
