"""MCP at `/v1/mcp`, one tool over the caller's capsules, and at `/v1/graph/mcp`, over the account's graphs. Stateless:
nothing is kept between two requests.
"""
