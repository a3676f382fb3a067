// The look of editors and diffs, in the colours of the page; and what all of them can do.

import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView, highlightActiveLine, highlightSpecialChars, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const theme = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", backgroundColor: "var(--panel)", color: "var(--text)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "20px" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--muted)", border: "none" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 8px 0 16px" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "light-dark(rgb(10 60 40 / 5%), rgb(160 230 200 / 6%))" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-content ::selection, .cm-line::selection": { backgroundColor: "light-dark(#bfe3d6, #2c5a4c)" },
  ".cm-specialChar": { color: "var(--bad)", backgroundColor: "var(--bad-soft)", borderRadius: "2px" },
  ".cm-panels": { backgroundColor: "var(--sunken)", color: "var(--text)", borderColor: "var(--line)" },
  ".cm-searchMatch": { backgroundColor: "light-dark(#fbe3b4, #5a4413)" },
  ".cm-textfield, .cm-button": { backgroundImage: "none", backgroundColor: "var(--panel)", border: "1px solid var(--line-strong)", borderRadius: "4px" },
  ".cm-changedLine, .cm-inlineChangedLine": { backgroundColor: "var(--good-soft) !important" },
  "&.cm-merge-a .cm-changedLine, .cm-deletedChunk": { backgroundColor: "var(--bad-soft) !important" },
  ".cm-changedText": { background: "light-dark(#a8dfc9, #22624d) !important" },
  "&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText": { background: "light-dark(#f6c0bb, #7a2c27) !important" },
  ".cm-collapsedLines": { background: "var(--sunken)", color: "var(--muted)", padding: "4px 16px", fontFamily: "var(--sans)" },
  // Few fonts have the signs that the package uses.
  ".cm-collapsedLines:before, .cm-collapsedLines:after": { content: "'···' !important" },
  ".cm-deletedChunk .cm-chunkButtons": { right: "8px" },
});

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], color: "light-dark(#7d3c9e, #d6a8f5)" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: "light-dark(#0a6b4f, #8fe0bf)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "light-dark(#8a4b00, #f0be6a)" },
  { tag: [tags.comment, tags.meta], color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.definition(tags.variableName), tags.function(tags.variableName), tags.labelName], color: "light-dark(#1d5f9e, #8fc2f7)" },
  { tag: [tags.typeName, tags.className, tags.namespace], color: "light-dark(#0b6470, #7bdde4)" },
  { tag: [tags.propertyName, tags.attributeName], color: "light-dark(#1d5f9e, #8fc2f7)" },
  { tag: tags.tagName, color: "light-dark(#a3302a, #ff9d95)" },
  { tag: tags.heading, fontWeight: "bold" },
  { tag: tags.emphasis, fontStyle: "italic" },
  { tag: tags.strong, fontWeight: "bold" },
  { tag: tags.link, color: "light-dark(#1d5f9e, #8fc2f7)" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

export const look: Extension = [
  theme,
  syntaxHighlighting(colours),
  lineNumbers(),
  // Control characters, and marks that turn the direction of text, are shown and not obeyed.
  highlightSpecialChars({ addSpecialChars: /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u00ad\u180e\u2060-\u2064\ufff9-\ufffb]/ }),
  bracketMatching(),
  indentOnInput(),
  highlightActiveLine(),
];
