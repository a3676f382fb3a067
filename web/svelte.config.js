import { vitePreprocess } from "@sveltejs/vite-plugin-svelte";

export default {
  preprocess: vitePreprocess(),
  compilerOptions: {
    runes: true,
    // By the content alone: the page is the same, in whatever directory it is built.
    cssHash: ({ hash, css }) => `s${hash(css)}`,
  },
};
