// Writes the page as the service embeds it: each file compressed, the hash of the script of the preview frame, and nothing
// that differs from one build to the next.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { constants, gzipSync } from "node:zlib";
import type { Plugin } from "vite";

/** A gzip file without a time and a system in its header. */
function packed(content: string | Uint8Array): Uint8Array {
  const bytes = gzipSync(content, { level: constants.Z_BEST_COMPRESSION });
  bytes[9] = 255;
  return bytes;
}

export function packedOutput(directory: string): Plugin {
  const write = (name: string, content: string | Uint8Array) => {
    const path = join(directory, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  };
  return {
    name: "packed-output",
    apply: "build",
    // When Vite has finished each file.
    writeBundle(_, bundle) {
      for (const [name, file] of Object.entries(bundle)) {
        write(`built/${name}.gz`, packed(file.type === "chunk" ? file.code : file.source));
      }
      const preview = readFileSync("preview.html", "utf8");
      const script = /<script>([^]*)<\/script>/.exec(preview)?.[1] ?? "";
      write("built/preview.html.gz", packed(preview));
      write("preview.hash", `sha256-${createHash("sha256").update(script).digest("base64")}`);
    },
  };
}
