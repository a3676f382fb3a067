// `<adopted-style>`: a style element that the policy of the page permits. Its text goes into a constructable style sheet
// while it is in the document. See build/adopted-styles.ts for who creates it.

class AdoptedStyle extends HTMLElement {
  readonly #sheet = new CSSStyleSheet();

  override get textContent(): string {
    return "";
  }

  override set textContent(text: string | null) {
    this.#sheet.replaceSync(text ?? "");
  }

  get sheet(): CSSStyleSheet {
    return this.#sheet;
  }

  connectedCallback(): void {
    this.hidden = true;
    if (!document.adoptedStyleSheets.includes(this.#sheet)) document.adoptedStyleSheets.push(this.#sheet);
  }

  disconnectedCallback(): void {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== this.#sheet);
  }
}

export function defineAdoptedStyle(): void {
  if (!customElements.get("adopted-style")) customElements.define("adopted-style", AdoptedStyle);
}
