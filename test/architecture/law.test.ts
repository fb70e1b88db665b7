// The law of a lane ends or moves what was sent (D28). So the transitions that do so have these callers and no others. Each
// caller in a lane asks the law, or applies what a file that asks it has decided. Only the watcher (lane/watch/watch.ts) does not:
// it follows the blocks of what is included, to finality or a reorg.
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../support/sourceCode.js";
import { readImports } from "./importGraph.js";

const LAW = "lane/law/law.ts";
/** Each transition that ends or moves a submission with a wrapper, and the files that call it. */
const CALLERS: Readonly<Record<string, readonly string[]>> = {
  saveFailed: ["lane/law/reconcile.ts", "lane/send/applyAnswers.ts"],
  saveIncluded: ["lane/law/reconcile.ts"],
  saveRequeued: ["lane/law/requeue.ts"],
  saveBroadcast: ["lane/law/broadcastBuffer.ts"],
  saveReorged: ["lane/watch/watch.ts"],
  saveFinal: ["lane/watch/watch.ts"],
  // It fails what no wrapper may carry any more, and has that condition in its statement (L9).
  expireQueued: ["maintenance/expiry.ts"],
};
/** Callers that apply what another file has decided. */
const APPLIERS: Readonly<Record<string, string>> = {
  "lane/law/broadcastBuffer.ts": "lane/send/applyAnswers.ts",
};

const imports = readImports(join(root, "packages", "server"));
const importersOf = (file: string) =>
  [...imports].filter(([, imported]) => imported.has(file)).map(([importer]) => importer);

describe("a submission that was sent", () => {
  it.each(Object.entries(CALLERS))(
    "is moved by %s only from the listed files, and those in a lane ask the law",
    (transition, callers) => {
      const file = `store/transitions/${transition}.ts`;
      expect(importersOf(file)).toEqual(callers);
      const judged = callers.filter(
        (caller) => caller.startsWith("lane/") && caller !== "lane/watch/watch.ts",
      );
      const deciders = judged.map((caller) => APPLIERS[caller] ?? caller);
      expect(deciders.filter((decider) => !imports.get(decider)?.has(LAW))).toEqual([]);
    },
  );

  it("is ended by no other transition", () => {
    const ending = importersOf("store/transitions/finishStatement.ts");
    expect(ending).toEqual([
      // A devnet that began anew: its chain is gone, with everything on it.
      "store/chains.ts",
      // A devnet that its developer took back.
      "store/rewind.ts",
      "store/transitions/expireQueued.ts",
      "store/transitions/saveFailed.ts",
      "store/transitions/saveFinal.ts",
      "store/transitions/saveIncluded.ts",
    ]);
  });

  it("is judged by evidence that only the boundary to the nodes makes", () => {
    expect(importersOf("chain/evidence.ts")).toEqual([
      "chain/client/nodeClient.ts",
      "chain/client/snapshot.ts",
      // These name its types.
      "lane/law/law.ts",
      "lane/send/applyAnswers.ts",
      // It tells which bytes are new.
      "lane/sign/placement.ts",
    ]);
  });
});
