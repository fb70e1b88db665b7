// The protocol's test vectors against the service's rules for InnerTxs (D3).
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type AllowedTargetJson, parseAllowedTargets } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { outcomeOf, testServices } from "../support/testService.js";

interface Vector {
  readonly name: string;
  readonly registry: Readonly<Record<string, readonly AllowedTargetJson[]>>;
  readonly service?: {
    readonly transaction: string;
    readonly waiver: string;
    readonly verdict: "accepted" | "refused";
    readonly code?: string;
    readonly reason?: string;
  };
}

const path = fileURLToPath(import.meta.resolve("@gas-waiver/protocol/vectors/wrappers.json"));
interface VectorFile {
  readonly serviceLimits: { readonly maxDataLength: number; readonly maxWrapperBytes: number };
  readonly cases: readonly Vector[];
}

const { cases, serviceLimits }: VectorFile = JSON.parse(readFileSync(path, "utf8"));
const { maxDataLength, maxWrapperBytes } = serviceLimits;

/** The cases by the policy that they are meant for. */
const byPolicy = new Map<string, (Vector & { readonly service: NonNullable<Vector["service"]> })[]>();
for (const { service, ...vector } of cases) {
  if (service === undefined) continue;
  const policy = JSON.stringify(vector.registry[service.waiver] ?? []);
  byPolicy.set(policy, [...(byPolicy.get(policy) ?? []), { ...vector, service }]);
}

/** The outcomes that later stages decide: many vectors share a nonce. */
const AFTER_THE_RULES =
  /^success$|^TIMEOUT\/|^VALIDATION_FAILED\/NONCE_(TOO_LOW|GAP|CONFLICT)$|^BROADCAST_FAILED\/|\/INSUFFICIENT_BALANCE$/;

describe("the service gives the verdicts of the vectors", () => {
  const services = testServices();

  it("and the vectors have cases for it", () => {
    const serviceCases = [...byPolicy.values()].flat();
    expect(serviceCases.length).toBeGreaterThanOrEqual(200);
    expect(new Set(serviceCases.map(({ service }) => service.verdict))).toEqual(
      new Set(["accepted", "refused"]),
    );
  });

  it.each([...byPolicy])("under the policy %s", async (policy, vectors) => {
    const service = await services.start({
      allowedTargets: parseAllowedTargets(JSON.parse(policy)),
      ...{ maxDataLength, maxWrapperBytes, maxBatchSize: 1_000 },
      requestTimeoutMs: 100,
    });
    const lines = await service.submit(vectors.map((vector) => vector.service.transaction));
    for (const [i, { name, service: expected }] of vectors.entries()) {
      const outcome = outcomeOf(lines[i]);
      if (expected.verdict === "refused") expect(outcome, name).toBe(`${expected.code}/${expected.reason}`);
      else expect(outcome, name).toMatch(AFTER_THE_RULES);
    }
  });
});
