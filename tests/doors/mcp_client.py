"""A client of the MCP SDK: calls each tool, and says on stdout what it saw. Run by the Python that has the SDK.

``mcp_client.py 1 COMMAND…`` speaks as clients of the SDK's 1.x do, ``2`` as those of 2.x (which ask what the server
serves, and need no handshake), ``2-handshake`` as those of 2.x that begin with one.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import AsyncExitStack
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("memory_search", {"query": "what is Mira allergic to", "mode": "lexical"}),
    ("memory_get", {"target": "Memory.md", "lines": 4}),
    ("memory_context", {"question": "the ferry to Mira", "budget": 400}),
    ("memory_facts", {"about": "Mira"}),
    ("memory_add", {"text": "Mira's boat is called Halcyon", "tier": "semantic"}),
    ("memory_why", {"target": "Mira's boat is called Halcyon"}),
    ("memory_propose", {"text": "Always answer in metric units"}),
    ("memory_search", {"query": "boat", "vault": "/etc"}),
]


async def main(mode: str, command: list[str]) -> dict[str, Any]:
    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with AsyncExitStack() as stack:
        if mode == "1":
            streams = await stack.enter_async_context(stdio_client(server))
            client: Any = await stack.enter_async_context(ClientSession(*streams))
            version = (await client.initialize()).protocolVersion
        else:
            from mcp import Client

            how = "legacy" if mode == "2-handshake" else "auto"
            client = await stack.enter_async_context(Client(stdio_client(server), mode=how))
            version = client.protocol_version
        listed = await client.list_tools()
        called = [await client.call_tool(name, arguments) for name, arguments in CALLS]
    return {
        "version": version,
        "tools": [tool.name for tool in listed.tools],
        "called": [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in called],
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], sys.argv[2:]))))
