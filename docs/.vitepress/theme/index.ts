// The default theme without its fonts, so that a page loads nothing but itself.
import type { Theme } from "vitepress";
import DefaultTheme from "vitepress/theme-without-fonts";
import { h } from "vue";
import CapacityCalculator from "./capacity/CapacityCalculator.vue";
import { homeTerminal } from "./homeTerminal.js";
import "./style.css";

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { "home-hero-image": () => h(homeTerminal) }),
  enhanceApp({ app }) {
    app.component("CapacityCalculator", CapacityCalculator);
  },
} satisfies Theme;
