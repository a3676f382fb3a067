// What a file is shown as. Only the bytes and the ending of the name decide, and never what the file says of itself.

const IMAGES: Record<string, string> = { png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp", avif: "image/avif", bmp: "image/bmp" };

export type FileKind = { kind: "image"; type: string } | { kind: "pdf" } | { kind: "text"; text: string } | { kind: "binary" };

export function endingOf(path: string): string {
  return /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
}

export function kindOf(path: string, bytes: Uint8Array, isWhole: boolean): FileKind {
  const ending = endingOf(path);
  const image = Object.hasOwn(IMAGES, ending) ? IMAGES[ending] : undefined;
  if (image && isWhole) return { kind: "image", type: image };
  if (ending === "pdf" && isWhole && startsWith(bytes, "%PDF-")) return { kind: "pdf" };
  const text = textOf(bytes, isWhole);
  return text === undefined ? { kind: "binary" } : { kind: "text", text };
}

function startsWith(bytes: Uint8Array, text: string): boolean {
  return [...text].every((character, index) => bytes[index] === character.charCodeAt(0));
}

function textOf(bytes: Uint8Array, isWhole: boolean): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    // A byte order mark stays: what is saved has it, too. The start of a file may end within a character.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: !isWhole });
  } catch {
    return undefined;
  }
}
