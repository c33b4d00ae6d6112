"""Tools for assistants at /mcp: the Model Context Protocol, revisions 2026-07-28 and 2025-11-25, over Streamable HTTP.

Stateless: each request is a POST with one JSON-RPC message, and the response is one JSON object. rpc_messages.py reads
and builds them, mcp_site.py finds the caller, tool_list.py is the list of tools, and the other modules run them by the
same functions as the REST API."""
