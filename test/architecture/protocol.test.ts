import { testArrows } from "./testArrows.js";

testArrows("protocol");
