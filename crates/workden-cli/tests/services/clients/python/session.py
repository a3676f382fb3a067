"""One session of the official Python client with a server, controlled over standard input.

The first line of input says how to connect, every other line is a request, and each gets one line of output.
What the client thinks of a server's answers is thereby part of the test: it checks them by its own types.
"""

import json
import sys
from contextlib import AsyncExitStack

import anyio
import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult


class Session:
    def __init__(self, how):
        self.how = how
        self.asked = []
        self.will_answer = None
        self.running = None

    async def answer(self, _context, params):
        """Answers as the user of the client, with the answer that the test chose."""
        self.asked.append(params.message)
        content = self.will_answer.get("content") if self.will_answer["action"] == "accept" else None
        return ElicitResult(action=self.will_answer["action"], content=content)

    async def transport(self, stack):
        if "url" not in self.how:
            return StdioServerParameters(command=self.how["command"], args=self.how["args"])
        headers = {"Authorization": f"Bearer {self.how['token']}"}
        http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=120))
        return streamable_http_client(self.how["url"], http_client=http)

    async def call(self, request):
        self.asked, self.will_answer, news = [], request.get("answer"), []

        async def follow(progress, total, message):
            news.append({"progress": progress, "total": total, "message": message})

        result = await self.client.call_tool(request["tool"], request["args"], progress_callback=follow)
        return {"result": shown(result), "asked": self.asked, "news": news}

    async def start(self, request, tasks):
        """Makes a call that runs until it is cancelled."""
        self.running = anyio.CancelScope()

        async def abandoned():
            with self.running:
                await self.client.call_tool(request["tool"], request["args"])

        tasks.start_soon(abandoned)
        return {}

    async def do(self, request, tasks):
        match request["do"]:
            case "tools":
                return {"tools": [shown(tool) for tool in (await self.client.list_tools()).tools]}
            case "call":
                return await self.call(request)
            case "start":
                return await self.start(request, tasks)
            case "cancel":
                self.running.cancel()
                return {}
            case "resources":
                return shown(await self.client.list_resources())
            case "read":
                return shown(await self.client.read_resource(request["uri"]))

    async def run(self, lines):
        async with AsyncExitStack() as stack:
            transport = await self.transport(stack)
            callback = self.answer if self.how["can_be_asked"] else None
            client = Client(transport, mode=self.how["mode"], elicitation_callback=callback, read_timeout_seconds=120)
            self.client = await stack.enter_async_context(client)
            tasks = await stack.enter_async_context(anyio.create_task_group())
            say({"version": client.protocol_version, "instructions": client.instructions})
            # A thread waits for lines, because the client has work to do meanwhile.
            while line := await anyio.to_thread.run_sync(lines.readline):
                try:
                    say(await self.do(json.loads(line), tasks))
                except MCPError as error:
                    say({"error": error.message})


def shown(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def say(answer):
    print(json.dumps(answer), flush=True)


anyio.run(Session(json.loads(sys.stdin.readline())).run, sys.stdin)
