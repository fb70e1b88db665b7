// The default theme without its fonts, so that a page loads nothing but itself.
import type { Theme } from "vitepress";
import DefaultTheme from "vitepress/theme-without-fonts";
import CapacityCalculator from "./capacity/CapacityCalculator.vue";
import "./style.css";

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component("CapacityCalculator", CapacityCalculator);
  },
} satisfies Theme;
