export { runNight, TROUBLE_NAMES } from "./runNight.js";
export { tableOf } from "./table.js";
