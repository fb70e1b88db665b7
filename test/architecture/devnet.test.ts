import { testArrows } from "./testArrows.js";

testArrows("devnet");
