export { PERSONALITIES } from "./personalities.js";
export { runZoo } from "./runZoo.js";
export { ZOO_FAULTS } from "./zooFaults.js";
