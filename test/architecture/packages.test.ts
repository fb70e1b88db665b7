import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { testArrows } from "./testArrows.js";

// No package has a circle, a new one neither. Those with a file of their own here have a list of arrows besides.
for (const name of readdirSync(join(import.meta.dirname, "../../packages")))
  if (!existsSync(join(import.meta.dirname, `${name}.test.ts`))) testArrows(name);
