// Dark, light, or as the system says.

export type Theme = "system" | "dark" | "light";

const NAME = "workden.theme";
const THEMES: Theme[] = ["system", "dark", "light"];
const system = matchMedia("(prefers-color-scheme: dark)");

let theme = $state<Theme>(stored());
let systemIsDark = $state(system.matches);
system.addEventListener("change", (event) => (systemIsDark = event.matches));

function stored(): Theme {
  const found = localStorage.getItem(NAME);
  return THEMES.find((name) => name === found) ?? "system";
}

export function currentTheme(): Theme {
  return theme;
}

export function isDark(): boolean {
  return theme === "system" ? systemIsDark : theme === "dark";
}

export function nextTheme(): void {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system";
  localStorage.setItem(NAME, theme);
  showTheme();
}

export function showTheme(): void {
  document.documentElement.dataset["theme"] = theme;
}
