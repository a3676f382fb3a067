// Names and texts from sandboxes, with everything shown that would otherwise be invisible or change the order of the text:
// control characters, escapes, and marks that turn the direction of writing.

const HIDDEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udfff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const SHORT: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\u001b": "\\e", "\u0000": "\\0" };

function escaped(character: string): string {
  return SHORT[character] ?? `\\u{${character.charCodeAt(0).toString(16)}}`;
}

/** One line: line breaks are shown, too. */
export function visible(text: string): string {
  return text.replace(HIDDEN, escaped);
}

/** Several lines: line breaks and tabs stay. */
export function visibleLines(text: string): string {
  return text.replace(HIDDEN, (character) => (character === "\n" || character === "\t" ? character : escaped(character)));
}

export function lastName(path: string): string {
  return visible(path.slice(path.lastIndexOf("/") + 1) || "/");
}
