import { readFileSync } from "node:fs";
import { join } from "node:path";
import { REASONS } from "@gas-waiver/protocol";
import { expect, it } from "vitest";
import { WaiverRelayError } from "./relayError.js";

const VECTORS = join(import.meta.dirname, "../../../protocol/vectors/wrappers.json");
const GUIDE = join(import.meta.dirname, "../../../../docs/guides/self-hosted.md");

const codeOf = (reason: string) => new WaiverRelayError({ reason, message: "" }).code;

it("has a code for each rule that a service or a relay asserts on a transaction", () => {
  const { cases } = JSON.parse(readFileSync(VECTORS, "utf8")) as {
    readonly cases: readonly { readonly service?: { readonly reason?: string } }[];
  };
  const reasons = new Set(cases.flatMap(({ service }) => service?.reason ?? []));
  expect(reasons.size).toBeGreaterThan(15);
  expect([...reasons].filter((reason) => codeOf(reason) === "BROADCAST_FAILED")).toEqual([]);
});

it("has the codes that the guide gives for each reason", () => {
  const rows = [...readFileSync(GUIDE, "utf8").matchAll(/^\| `([A-Z_]+)` \| (`.*) \|$/gm)];
  const documented = rows.flatMap(([, code, list = ""]) =>
    [...list.matchAll(/`([A-Z_]+)`/g)].map(([, reason = ""]) => [reason, code] as const),
  );
  expect(documented.map(([reason]) => [reason, codeOf(reason)])).toEqual(documented);
  const named = new Set(documented.map(([reason]) => reason));
  expect(
    Object.keys(REASONS).filter((reason) => !named.has(reason) && codeOf(reason) !== "BROADCAST_FAILED"),
  ).toEqual([]);
});
