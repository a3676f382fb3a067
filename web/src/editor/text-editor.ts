// An editor for one file.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { languageOf } from "./language";
import { lineEndOf, withLineEnd } from "./line-ends";
import { look } from "./look";

export interface TextEditor {
  text: () => string;
  setText: (text: string) => void;
  focus: () => void;
  dispose: () => void;
}

export interface EditorOptions {
  path: string;
  text: string;
  label: string;
  readOnly: boolean;
  onChange: () => void;
  onSave: () => void;
}

export function openEditor(host: HTMLElement, options: EditorOptions): TextEditor {
  const language = new Compartment();
  const save = { key: "Mod-s", preventDefault: true, run: () => (options.onSave(), true) };
  const end = lineEndOf(options.text);
  const view = new EditorView({
    parent: host,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        look,
        history(),
        search({ top: true }),
        keymap.of([save, ...defaultKeymap, ...historyKeymap, ...searchKeymap, ...(options.readOnly ? [] : [indentWithTab])]),
        language.of([]),
        EditorState.readOnly.of(options.readOnly),
        EditorView.contentAttributes.of({ "aria-label": options.label, "aria-readonly": String(options.readOnly) }),
        EditorView.updateListener.of((update) => update.docChanged && options.onChange()),
      ],
    }),
  });
  void languageOf(options.path).then((found) => view.dispatch({ effects: language.reconfigure(found) }));
  return {
    text: () => withLineEnd(view.state.doc.toString(), end),
    setText: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    focus: () => view.focus(),
    dispose: () => view.destroy(),
  };
}
