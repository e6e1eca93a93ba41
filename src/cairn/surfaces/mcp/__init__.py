"""MCP at `/v1/mcp`: one tool over the caller's capsules. Stateless: nothing is kept between two requests."""
