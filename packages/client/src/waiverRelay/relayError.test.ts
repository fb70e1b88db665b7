import { readFileSync } from "node:fs";
import { join } from "node:path";
import { REASONS } from "@gas-waiver/protocol";
import { expect, it } from "vitest";
import { WaiverRelayError } from "./relayError.js";

const GUIDE = join(import.meta.dirname, "../../../../docs/guides/self-hosted.md");

it("has the codes that the guide gives for each reason", () => {
  const rows = [...readFileSync(GUIDE, "utf8").matchAll(/^\| `([A-Z_]+)` \| (`.*) \|$/gm)];
  const documented = rows.flatMap(([, code, list = ""]) =>
    [...list.matchAll(/`([A-Z_]+)`/g)].map(([, reason = ""]) => [reason, code] as const),
  );
  const codeOf = (reason: string) => new WaiverRelayError({ reason, message: "" }).code;
  expect(documented.map(([reason]) => [reason, codeOf(reason)])).toEqual(documented);
  const named = new Set(documented.map(([reason]) => reason));
  expect(
    Object.keys(REASONS).filter((reason) => !named.has(reason) && codeOf(reason) !== "BROADCAST_FAILED"),
  ).toEqual([]);
});
