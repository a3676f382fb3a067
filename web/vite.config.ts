import { rmSync } from "node:fs";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";
import { adoptedStyles } from "./build/adopted-styles.ts";
import { packedOutput } from "./build/packed-output.ts";

const output = process.env["WEB_OUTPUT"] ?? "../crates/workden-server/dashboard";
const service = process.env["WORKDEN_URL"] ?? "http://127.0.0.1:8420";

export default defineConfig(({ command }) => {
  if (command === "build") rmSync(output, { recursive: true, force: true });
  return {
    publicDir: false,
    plugins: [adoptedStyles(), svelte(), packedOutput(output)],
    // What is kept is written by `packedOutput`.
    build: {
      outDir: "node_modules/.vite/built",
      emptyOutDir: true,
      target: "es2023",
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
    },
    server: { proxy: { "/v1": { target: service, ws: true } } },
  };
});
