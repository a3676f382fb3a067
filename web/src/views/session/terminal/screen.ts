// The screen of a terminal. What is printed is not trusted: it can set no clipboard, offers no links, and answers no
// question about the terminal for a process that is only watched.

import { FitAddon } from "@xterm/addon-fit";
import { Terminal, type ITheme } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";

/** Links, the clipboard, and notifications of several terminals. */
const REFUSED_OSC = [8, 9, 52, 99, 777, 1337];

const DARK: ITheme = {
  background: "#0a0e0d", foreground: "#d9e2de", cursor: "#6fdcb6", cursorAccent: "#0a0e0d", selectionBackground: "#2c5a4c",
  black: "#1a2220", red: "#ff8f86", green: "#6fdcb6", yellow: "#f0be6a", blue: "#8fc2f7", magenta: "#d6a8f5", cyan: "#7bdde4", white: "#d9e2de",
  brightBlack: "#7f8d87", brightRed: "#ffb0a9", brightGreen: "#9aeccd", brightYellow: "#f7d598", brightBlue: "#b7d9fb", brightMagenta: "#e6cbfa", brightCyan: "#aaebf0", brightWhite: "#ffffff",
};
const LIGHT: ITheme = {
  background: "#ffffff", foreground: "#17201c", cursor: "#0a7357", cursorAccent: "#ffffff", selectionBackground: "#bfe3d6",
  black: "#17201c", red: "#b3261e", green: "#0a7357", yellow: "#8a5300", blue: "#1d5f9e", magenta: "#7d3c9e", cyan: "#0b6e77", white: "#56625c",
  brightBlack: "#6b7770", brightRed: "#c8372e", brightGreen: "#0c8263", brightYellow: "#9a6100", brightBlue: "#2a70b3", brightMagenta: "#9150b3", brightCyan: "#117d87", brightWhite: "#17201c",
};

export interface Screen {
  terminal: Terminal;
  fit: () => void;
  setDark: (isDark: boolean) => void;
  dispose: () => void;
}

export function openScreen(host: HTMLElement, options: { isDark: boolean; readOnly: boolean }): Screen {
  const font = getComputedStyle(document.documentElement).getPropertyValue("--mono");
  const terminal = new Terminal({
    fontFamily: font,
    fontSize: 13,
    lineHeight: 1.2,
    scrollback: 10_000,
    theme: options.isDark ? DARK : LIGHT,
    minimumContrastRatio: 4.5,
    cursorBlink: !options.readOnly,
    cursorInactiveStyle: options.readOnly ? "none" : "outline",
    disableStdin: options.readOnly,
    // Jobs and pipes end their lines without a carriage return.
    convertEol: options.readOnly,
    screenReaderMode: true,
    linkHandler: { activate: () => undefined, allowNonHttpProtocols: false },
  });
  for (const number of REFUSED_OSC) terminal.parser.registerOscHandler(number, () => true);
  const fitting = new FitAddon();
  terminal.loadAddon(fitting);
  terminal.open(host);
  fitting.fit();
  const observer = new ResizeObserver(() => fitting.fit());
  observer.observe(host);
  return {
    terminal,
    fit: () => fitting.fit(),
    setDark: (isDark) => (terminal.options.theme = isDark ? DARK : LIGHT),
    dispose: () => {
      observer.disconnect();
      terminal.dispose();
    },
  };
}
