// When a key is a shortcut, and when it is text.

export function isTyping(event: KeyboardEvent): boolean {
  // A dialog and an editor have keys of their own.
  const from = event.composedPath()[0];
  if (!(from instanceof HTMLElement)) return false;
  return from.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(from.tagName) || from.closest("dialog") !== null;
}

export function hasModifier(event: KeyboardEvent): boolean {
  return event.ctrlKey || event.metaKey || event.altKey;
}
