// The language of a file by its name. Each is loaded when a file needs it.

import { StreamLanguage, type LanguageSupport, type StreamParser } from "@codemirror/language";
import type { Extension } from "@codemirror/state";

type Load = () => Promise<LanguageSupport | StreamLanguage<unknown>>;

const stream = async (parser: Promise<StreamParser<unknown>>) => StreamLanguage.define(await parser);

const python: Load = async () => (await import("@codemirror/lang-python")).python();
const script = (options: { jsx?: boolean; typescript?: boolean }): Load => async () =>
  (await import("@codemirror/lang-javascript")).javascript(options);
const shell: Load = () => stream(import("@codemirror/legacy-modes/mode/shell").then((mode) => mode.shell));

const BY_ENDING: Record<string, Load> = {
  py: python,
  pyi: python,
  js: script({ jsx: true }),
  mjs: script({}),
  cjs: script({}),
  jsx: script({ jsx: true }),
  ts: script({ typescript: true }),
  tsx: script({ jsx: true, typescript: true }),
  json: async () => (await import("@codemirror/lang-json")).json(),
  md: async () => (await import("@codemirror/lang-markdown")).markdown(),
  html: async () => (await import("@codemirror/lang-html")).html(),
  svelte: async () => (await import("@codemirror/lang-html")).html(),
  css: async () => (await import("@codemirror/lang-css")).css(),
  rs: async () => (await import("@codemirror/lang-rust")).rust(),
  sh: shell,
  bash: shell,
  toml: () => stream(import("@codemirror/legacy-modes/mode/toml").then((mode) => mode.toml)),
  yaml: () => stream(import("@codemirror/legacy-modes/mode/yaml").then((mode) => mode.yaml)),
  yml: () => stream(import("@codemirror/legacy-modes/mode/yaml").then((mode) => mode.yaml)),
  go: () => stream(import("@codemirror/legacy-modes/mode/go").then((mode) => mode.go)),
  c: () => stream(import("@codemirror/legacy-modes/mode/clike").then((mode) => mode.c)),
  h: () => stream(import("@codemirror/legacy-modes/mode/clike").then((mode) => mode.c)),
  cpp: () => stream(import("@codemirror/legacy-modes/mode/clike").then((mode) => mode.cpp)),
  java: () => stream(import("@codemirror/legacy-modes/mode/clike").then((mode) => mode.java)),
  sql: () => stream(import("@codemirror/legacy-modes/mode/sql").then((mode) => mode.standardSQL)),
  rb: () => stream(import("@codemirror/legacy-modes/mode/ruby").then((mode) => mode.ruby)),
};

const BY_NAME: Record<string, Load> = {
  Dockerfile: () => stream(import("@codemirror/legacy-modes/mode/dockerfile").then((mode) => mode.dockerFile)),
};

export async function languageOf(path: string): Promise<Extension> {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const ending = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  const load = Object.hasOwn(BY_NAME, name) ? BY_NAME[name] : Object.hasOwn(BY_ENDING, ending) ? BY_ENDING[ending] : undefined;
  return load ? load() : [];
}
