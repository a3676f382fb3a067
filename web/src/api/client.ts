// Calls to `/v1` of the service that the page came from, with the key. No other host is ever asked.

import { currentKey, forgetKey } from "../state/key.svelte";
import { ApiFailure, failureOf, unreachable } from "./failure";

export interface CallOptions {
  method?: string;
  json?: unknown;
  body?: BodyInit;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

export type Query = Record<string, string | number | boolean | undefined>;

/** Returns a path with its parts encoded, and its query: `path("sessions", id)`. */
export function path(...parts: (string | number)[]): string {
  return `/v1/${parts.map((part) => encodeURIComponent(part)).join("/")}`;
}

export function withQuery(base: string, query: Query): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined);
  if (pairs.length === 0) return base;
  return `${base}?${new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]))}`;
}

/** Makes a call, and returns the answer if it is a success. */
export async function send(url: string, options: CallOptions = {}): Promise<Response> {
  const headers = new Headers(options.headers);
  const key = currentKey();
  if (key) headers.set("Authorization", `Bearer ${key}`);
  let body = options.body ?? null;
  if (options.json !== undefined) {
    headers.set("Content-Type", "application/json");
    body = JSON.stringify(options.json);
  }
  let answer: Response;
  try {
    answer = await fetch(url, {
      method: options.method ?? (body === null ? "GET" : "POST"),
      headers,
      body,
      signal: options.signal ?? null,
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw unreachable();
  }
  if (answer.ok) return answer;
  const failure = await failureOf(answer);
  // A key that was revoked while the page was open.
  if (failure.status === 401 && key === currentKey()) forgetKey(failure);
  throw failure;
}

export async function get<T>(url: string, signal?: AbortSignal): Promise<T> {
  return (await send(url, { signal })).json() as Promise<T>;
}

export async function post<T>(url: string, json: unknown = {}, signal?: AbortSignal): Promise<T> {
  const answer = await send(url, { json, signal });
  return (answer.status === 204 ? undefined : await answer.json()) as T;
}

export async function put<T>(url: string, json?: unknown): Promise<T> {
  const answer = await send(url, { method: "PUT", ...(json === undefined ? {} : { json }) });
  return (answer.status === 204 ? undefined : await answer.json()) as T;
}

export async function remove(url: string): Promise<void> {
  await send(url, { method: "DELETE" });
}

/** Opens a websocket. A page can set no header of one, so the key travels as the name of a protocol. */
export function websocket(url: string): WebSocket {
  const address = new URL(url, location.href);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  const key = currentKey();
  const socket = new WebSocket(address, key ? ["workden", `workden.key.${key}`] : ["workden"]);
  socket.binaryType = "arraybuffer";
  return socket;
}

export { ApiFailure };
