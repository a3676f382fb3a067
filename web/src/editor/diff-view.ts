// Two versions of a text, side by side or in one, with a button at each change that takes it back.

import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { languageOf } from "./language";
import { lineEndOf, withLineEnd } from "./line-ends";
import { look } from "./look";

export interface DiffOptions {
  path: string;
  before: string;
  after: string;
  isInline: boolean;
  /** Called with the text after a change was taken back; without it there are no buttons. */
  onRevert: ((text: string) => void) | undefined;
}

const COLLAPSED = { margin: 3, minSize: 6 };

export function openDiff(host: HTMLElement, options: DiffOptions): { dispose: () => void } {
  const language = new Compartment();
  const common = (label: string): Extension => [
    look,
    language.of([]),
    EditorView.editable.of(false),
    EditorView.contentAttributes.of({ "aria-label": label, role: "textbox", "aria-readonly": "true", tabindex: "0" }),
  ];
  const end = lineEndOf(options.after);
  const reverted = EditorView.updateListener.of((update) => {
    if (update.docChanged && update.transactions.some((change) => change.isUserEvent("revert"))) {
      options.onRevert?.(withLineEnd(update.state.doc.toString(), end));
    }
  });
  const views = options.isInline ? inline(host, options, [common("Changes"), reverted]) : beside(host, options, common, reverted);
  void languageOf(options.path).then((found) => {
    for (const view of views.editors) view.dispatch({ effects: language.reconfigure(found) });
  });
  return { dispose: views.dispose };
}

interface Views {
  editors: EditorView[];
  dispose: () => void;
}

function beside(host: HTMLElement, options: DiffOptions, common: (label: string) => Extension, reverted: Extension): Views {
  const view = new MergeView({
    parent: host,
    a: { doc: options.before, extensions: common("Before") },
    b: { doc: options.after, extensions: [common("After"), reverted] },
    collapseUnchanged: COLLAPSED,
    ...(options.onRevert ? { revertControls: "a-to-b" as const, renderRevertControl: () => button("Take this change back", "↩") } : {}),
  });
  return { editors: [view.a, view.b], dispose: () => view.destroy() };
}

function inline(host: HTMLElement, options: DiffOptions, common: Extension): Views {
  const merge = unifiedMergeView({
    original: options.before,
    collapseUnchanged: COLLAPSED,
    mergeControls: (type, action) => {
      if (type === "accept" || !options.onRevert) return document.createElement("span");
      const made = button("Take this change back", "Take back");
      made.onmousedown = action;
      return made;
    },
  });
  const view = new EditorView({ parent: host, state: EditorState.create({ doc: options.after, extensions: [common, merge] }) });
  return { editors: [view], dispose: () => view.destroy() };
}

function button(title: string, text: string): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "take-back";
  made.title = title;
  made.ariaLabel = title;
  made.textContent = text;
  return made;
}
