// The directories of a session: each is listed when it is opened, and again when something in it changes.

import { listDirectory } from "../../../api/files";
import { asFailure, type ApiFailure } from "../../../api/failure";
import { follow, type Follower } from "../../../api/follow";
import { path, withQuery } from "../../../api/client";
import type { FileEntry } from "../../../api/types";

export interface TreeRow {
  entry: FileEntry;
  depth: number;
  isOpen: boolean;
  /** Entries that the listing left out; the row then stands for them. */
  leftOut: number;
}

interface Directory {
  entries: FileEntry[];
  leftOut: number;
}

const PAUSE = 200;

export class FileTree {
  root = $state("");
  failure = $state.raw<ApiFailure>();
  #directories = $state.raw<ReadonlyMap<string, Directory>>(new Map());
  #open = $state.raw<ReadonlySet<string>>(new Set());
  #stale = new Set<string>();
  #follower: Follower | undefined;
  readonly #session: string;
  readonly #onChange: (path: string) => void;

  readonly rows = $derived.by(() => {
    const rows: TreeRow[] = [];
    this.#add(rows, this.root, 0);
    return rows;
  });

  constructor(session: string, onChange: (path: string) => void) {
    [this.#session, this.#onChange] = [session, onChange];
    void this.start();
  }

  get isRead(): boolean {
    return this.#directories.has(this.root);
  }

  async start(): Promise<void> {
    try {
      // An empty path is the working directory; its entries say where that is.
      const { entries, left_out } = await listDirectory(this.#session, ".");
      const first = entries[0]?.path;
      this.root = first ? first.slice(0, first.lastIndexOf("/")) || "/" : "/workspace";
      this.#keep(this.root, entries, left_out);
      this.failure = undefined;
    } catch (error) {
      this.failure = asFailure(error);
      return;
    }
    this.#follower = follow({
      url: withQuery(path("sessions", this.#session, "watch"), { path: ".", recursive: true }),
      onEvent: ({ name, data }) => (name === "changed" ? this.#changed(JSON.parse(data) as { path: string }) : this.refresh()),
      onOpen: (again) => again && this.refresh(),
    });
  }

  stop(): void {
    this.#follower?.stop();
  }

  async toggle(directory: string): Promise<void> {
    const open = new Set(this.#open);
    if (!open.delete(directory)) {
      open.add(directory);
      await this.#list(directory);
    }
    this.#open = open;
  }

  /** Opens the directories above a path. */
  async reveal(file: string): Promise<void> {
    const below = file.slice(this.root.length).split("/").filter(Boolean).slice(0, -1);
    let at = this.root;
    for (const name of below) {
      at = `${at === "/" ? "" : at}/${name}`;
      if (!this.#open.has(at)) await this.toggle(at);
    }
  }

  refresh(): void {
    for (const directory of [this.root, ...this.#open]) void this.#list(directory);
  }

  #changed({ path }: { path: string }): void {
    this.#onChange(path);
    const parent = path.slice(0, path.lastIndexOf("/")) || "/";
    if (!this.#directories.has(parent)) return;
    this.#stale.add(parent);
    if (this.#stale.size === 1) {
      setTimeout(() => {
        const stale = [...this.#stale];
        this.#stale.clear();
        for (const directory of stale) void this.#list(directory);
      }, PAUSE);
    }
  }

  async #list(directory: string): Promise<void> {
    try {
      const { entries, left_out } = await listDirectory(this.#session, directory);
      this.#keep(directory, entries, left_out);
    } catch {
      // It was removed, or may not be listed.
      this.#keep(directory, [], 0);
    }
  }

  #keep(directory: string, entries: FileEntry[], leftOut: number): void {
    this.#directories = new Map(this.#directories).set(directory, { entries, leftOut });
  }

  #add(rows: TreeRow[], directory: string, depth: number): void {
    const found = this.#directories.get(directory);
    if (!found) return;
    for (const entry of found.entries) {
      const isOpen = entry.kind === "directory" && this.#open.has(entry.path);
      rows.push({ entry, depth, isOpen, leftOut: 0 });
      if (isOpen) this.#add(rows, entry.path, depth + 1);
    }
    if (found.leftOut > 0) {
      const entry: FileEntry = { path: `${directory}/…`, name: "", kind: "special", is_link: false };
      rows.push({ entry, depth, isOpen: false, leftOut: found.leftOut });
    }
  }
}
