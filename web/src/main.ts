// The start of the page. The key leaves the address before anything else is done.

import { mount } from "svelte";
import App from "./App.svelte";
import { takeKeyFromAddress } from "./state/key.svelte";
import { startRouting } from "./state/route.svelte";
import { showTheme } from "./state/theme.svelte";
import "./styles.css";
import { defineAdoptedStyle } from "./ui/adopted-style";

takeKeyFromAddress();
showTheme();
defineAdoptedStyle();
startRouting();

const target = document.getElementById("app");
if (target) mount(App, { target });
