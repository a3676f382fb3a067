// Server-sent events over `fetch`, which can carry the key and the number to resume after; `EventSource` cannot.

export interface ServerEvent {
  id: string | undefined;
  name: string;
  data: string;
}

/** Yields the events of a body until it ends. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const event = parsed(block);
        if (event) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function parsed(block: string): ServerEvent | undefined {
  const event: ServerEvent = { id: undefined, name: "message", data: "" };
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const value = line.slice(colon + 1).replace(/^ /, "");
    switch (line.slice(0, colon)) {
      case "id":
        event.id = value;
        break;
      case "event":
        event.name = value;
        break;
      case "data":
        data.push(value);
        break;
    }
  }
  event.data = data.join("\n");
  return data.length > 0 ? event : undefined;
}
