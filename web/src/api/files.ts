// Files of a session: content with its version, directories, and changes.

import { get, path, post, remove, send, withQuery } from "./client";
import type { FileEntry } from "./types";

export interface FileContent {
  bytes: Uint8Array<ArrayBuffer>;
  /** The version that a writer names; `undefined` for a part of a large file. */
  etag: string | undefined;
  size: number;
}

function fileUrl(session: string, file: string): string {
  return withQuery(path("sessions", session, "files"), { path: file });
}

export async function listDirectory(session: string, directory: string): Promise<{ entries: FileEntry[]; left_out: number }> {
  return get(withQuery(path("sessions", session, "files", "list"), { path: directory }));
}

/** Reads a file, of a larger one its start. */
export async function readFile(session: string, file: string, most: number): Promise<FileContent> {
  const answer = await send(fileUrl(session, file), { headers: { Range: `bytes=0-${most - 1}` } }).catch(async (error) => {
    // An empty file has no range.
    if (error.status === 416) return send(fileUrl(session, file));
    throw error;
  });
  const bytes = new Uint8Array(await answer.arrayBuffer());
  const total = /\/(\d+)$/.exec(answer.headers.get("Content-Range") ?? "")?.[1];
  const size = total === undefined ? bytes.length : Number(total);
  const etag = answer.headers.get("ETag") ?? undefined;
  return { bytes, size, etag: size === bytes.length && !etag?.startsWith("W/") ? etag : undefined };
}

/** Writes a file; with a version only over that one, and with `null` only where no file is. Returns the new version. */
export async function writeFile(session: string, file: string, body: BodyInit, expected?: string | null): Promise<string> {
  const headers: Record<string, string> = { "Content-Type": "application/octet-stream" };
  if (expected) headers["If-Match"] = expected;
  if (expected === null) headers["If-None-Match"] = "*";
  const answer = await send(fileUrl(session, file), { method: "PUT", body, headers });
  return answer.headers.get("ETag") ?? "";
}

export async function removeFile(session: string, entry: FileEntry): Promise<void> {
  await remove(withQuery(path("sessions", session, "files"), { path: entry.path, recursive: entry.kind === "directory" }));
}

export async function makeDirectory(session: string, directory: string): Promise<void> {
  await send(withQuery(path("sessions", session, "files", "directory"), { path: directory }), { method: "POST" });
}

export async function moveFile(session: string, from: string, to: string): Promise<void> {
  await post(path("sessions", session, "files", "move"), { from, to });
}

/** Saves a file, or a directory as an archive, where the browser saves files. */
export async function download(session: string, entry: { path: string; kind: string }): Promise<void> {
  const isDirectory = entry.kind === "directory";
  const url = isDirectory ? withQuery(path("sessions", session, "files", "archive"), { path: entry.path }) : fileUrl(session, entry.path);
  const blob = await (await send(url)).blob();
  save(blob, (entry.path.split("/").pop() || "workspace") + (isDirectory ? ".tar" : ""));
}

export function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  // Bytes, whatever the file says that it is.
  link.href = URL.createObjectURL(new Blob([blob], { type: "application/octet-stream" }));
  link.download = name.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069/\\]/g, "_");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
