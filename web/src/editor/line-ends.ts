// How the lines of a text end. Editors hold line feeds only, and what they save has the ends that the file had.

export type LineEnd = "\n" | "\r\n" | "mixed";

export function lineEndOf(text: string): LineEnd {
  const pairs = text.match(/\r\n/g)?.length ?? 0;
  const feeds = text.match(/\n/g)?.length ?? 0;
  const returns = text.match(/\r/g)?.length ?? 0;
  if (returns === 0) return "\n";
  return pairs === feeds && pairs === returns ? "\r\n" : "mixed";
}

export function withLineEnd(text: string, end: LineEnd): string {
  return end === "\r\n" ? text.replaceAll("\n", "\r\n") : text;
}
