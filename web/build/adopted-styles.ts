// xterm.js and CodeMirror write <style> elements and style attributes, which the policy of the page forbids. This plugin
// rewrites those few places: a style element becomes `<adopted-style>` (see src/ui/adopted-style.ts), which hands its text
// to a constructable style sheet, and a style attribute becomes a property. A new version of a package that writes
// otherwise fails the build here, and not in a browser.

import type { Plugin } from "vite";

interface Rewrite {
  file: RegExp;
  from: RegExp;
  to: string;
  times: number;
}

const REWRITES: Rewrite[] = [
  { file: /@xterm\/xterm\/lib\/xterm\.mjs$/, from: /createElement\("style"\)/g, to: 'createElement("adopted-style")', times: 3 },
  {
    file: /@xterm\/xterm\/lib\/xterm\.mjs$/,
    from: /(\w+)\.setAttribute\("style",`\$\{\1\.getAttribute\("style"\)\|\|""\}\$\{(\w+)\};`\)/g,
    to: '$1.style.cssText+=`;${$2};`',
    times: 1,
  },
  { file: /style-mod\/src\/style-mod\.js$/, from: /createElement\("style"\)/g, to: 'createElement("adopted-style")', times: 1 },
];

export function adoptedStyles(): Plugin {
  return {
    name: "adopted-styles",
    transform(code, id) {
      const file = id.split("?")[0] ?? id;
      const rewrites = REWRITES.filter((rewrite) => rewrite.file.test(file));
      if (rewrites.length === 0) return null;
      for (const { from, to, times } of rewrites) {
        const found = code.match(from)?.length ?? 0;
        if (found !== times) this.error(`${file}: ${from} occurs ${found} times, and ${times} were expected`);
        code = code.replace(from, to);
      }
      return { code, map: null };
    },
  };
}
