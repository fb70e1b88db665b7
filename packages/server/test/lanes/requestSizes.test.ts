// Nodes and proxies that limit the calls or bytes of a request, behind the whole service.
import { describe, expect, it } from "vitest";
import { outcomeOf, testServices } from "../support/testService.js";
import { hashOf, innerOf, TRANSFER } from "../support/user.js";

const services = testServices({ patience: { speed: 10 } });
const OPTIONS = { maxGasLimit: 20_000_000n };
const INCLUDED = { query: "?wait=included" };
const large = (nonce: number) =>
  innerOf(1, nonce, {
    gasLimit: 10_000_000n,
    data: Uint8Array.from([...TRANSFER, ...new Uint8Array(100_000)]),
  });

describe("a proxy that takes at most 1 MiB in a request", () => {
  it("passes on 41 transactions of 100 KB each, in order, and refuses none", async () => {
    const { node, ...service } = await startWithNodeLimits({ bytes: 1_048_576 });
    const inners = Array.from({ length: 41 }, (_, nonce) => large(nonce));
    const lines = await Promise.all([inners.slice(0, 20), inners.slice(20)].map(service.submit));
    expect(lines.flat().map(outcomeOf)).toEqual(Array(41).fill("success"));
    expect(node.chain.executed).toEqual(inners.map(hashOf));
    expect(node.requests.refused).toBe(0);
  });
});

describe("a node that takes at most 10 calls in a request", () => {
  it("gets all transactions in order, and the service learns its limit", async () => {
    const { node, ...service } = await startWithNodeLimits({ calls: 10 });
    const inners = Array.from({ length: 90 }, (_, nonce) => innerOf(1, nonce));
    expect((await service.submit(inners)).map(outcomeOf)).toEqual(Array(90).fill("success"));
    expect(node.chain.executed).toEqual(inners.map(hashOf));
    const refused = node.requests.refused;
    const second = Array.from({ length: 50 }, (_, i) => innerOf(2, i));
    expect((await service.submit(second)).map(outcomeOf)).toEqual(Array(50).fill("success"));
    // The service tries a higher limit from time to time.
    expect(node.requests.refused - refused).toBeLessThanOrEqual(2);
  });
});

async function startWithNodeLimits(limits: { readonly calls?: number; readonly bytes?: number }) {
  const service = await services.start(OPTIONS);
  service.node.limits = { ...service.node.limits, ...limits };
  return { node: service.node, submit: (inners: readonly string[]) => service.submit(inners, INCLUDED) };
}
