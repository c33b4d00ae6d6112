"""Contents, order and limits of workspace pages and tabs. record_types/workspace_*.py declares the types;
console/pages/workspaces draws them."""
