// A connection to a process: its output from where it was left, and input for it. A lost connection is opened again, and
// what was printed meanwhile follows.

import { get, path, websocket, withQuery } from "../../../api/client";
import { asFailure } from "../../../api/failure";
import type { ProcessView } from "../../../api/types";

export interface ProcessListener {
  onOutput: (bytes: Uint8Array) => void;
  /** Output that the service no longer holds. */
  onLost: (bytes: number) => void;
  onEnded: (how: string) => void;
  onLink: (isOpen: boolean) => void;
}

interface Told {
  type: "lost" | "limits" | "ended";
  bytes?: number;
  exit_code?: number;
}

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 10_000;

export class ProcessLink {
  #socket: WebSocket | undefined;
  #offset = 0;
  #pause = FIRST_PAUSE;
  #isOver = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly session: string,
    private readonly process: number,
    private readonly listener: ProcessListener,
  ) {
    this.#connect();
  }

  /** Leaves the process. It goes on. */
  leave(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#socket?.close();
  }

  write(text: string): void {
    this.#send(new TextEncoder().encode(text));
  }

  resize(rows: number, columns: number): void {
    this.#send(JSON.stringify({ type: "resize", rows, columns }));
  }

  #send(message: string | Uint8Array<ArrayBuffer>): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(message);
  }

  #connect(): void {
    const url = path("sessions", this.session, "processes", this.process, "attach");
    const socket = websocket(withQuery(url, { offset: this.#offset }));
    this.#socket = socket;
    socket.onopen = () => {
      this.#pause = FIRST_PAUSE;
      this.listener.onLink(true);
    };
    socket.onmessage = ({ data }) => this.#take(data as ArrayBuffer | string);
    socket.onclose = () => {
      if (!this.#isOver) void this.#lost();
    };
  }

  #take(data: ArrayBuffer | string): void {
    if (typeof data !== "string") {
      // The first byte says which stream it is.
      const bytes = new Uint8Array(data, 1);
      this.#offset += bytes.length;
      this.listener.onOutput(bytes);
      return;
    }
    const told = JSON.parse(data) as Told;
    if (told.type === "lost") {
      this.#offset += told.bytes ?? 0;
      this.listener.onLost(told.bytes ?? 0);
    } else if (told.type === "ended") {
      this.#end(told.exit_code === undefined ? "ended" : `ended with exit code ${told.exit_code}`);
    }
  }

  #end(how: string): void {
    this.#isOver = true;
    this.listener.onEnded(how);
  }

  /** Asks why the connection is gone: a process that is gone, too, is not waited for. */
  async #lost(): Promise<void> {
    this.listener.onLink(false);
    try {
      const found = await get<ProcessView>(path("sessions", this.session, "processes", this.process));
      if (!found.running) this.#pause = FIRST_PAUSE;
    } catch (error) {
      const failure = asFailure(error);
      if (failure.status >= 400 && failure.status < 500) return this.#end("ended: the service was started again, or the session was paused");
    }
    if (this.#isOver) return;
    this.#timer = setTimeout(() => this.#connect(), this.#pause);
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
  }
}
