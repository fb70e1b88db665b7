import { type FunctionalComponent, h } from "vue";

const LINES = [
  ["$ npx gas-waiver dev", "command"],
  ["chain    http://127.0.0.1:8545  id 2201"],
  ["service  http://127.0.0.1:8080  API key gw_dev_local"],
  [""],
  ["A gasless transfer"],
  ["  user       has 0 wei and could not pay for gas"],
  ["             signs 25 USDT0 at gas price 0"],
  ["  service    a waiver wrapped it, block 13 has both"],
  ["  inner      gas used 34277, gas price paid 0"],
  [""],
  ["ready"],
] as const;

/** What the first command prints, in short, beside the name on the home page. */
export const homeTerminal: FunctionalComponent = () =>
  h(
    "pre",
    { class: "home-terminal", "aria-hidden": "true" },
    LINES.map(([text, kind]) => h("div", { class: kind }, text || " ")),
  );
