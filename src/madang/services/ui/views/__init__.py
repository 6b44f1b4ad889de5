"""Questions and waits as results. Pure: domain in, `ToolResult` out."""
