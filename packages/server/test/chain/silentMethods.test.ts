// Two nodes of one chain. The first answers one method with an error, or with nonsense, for good; the second is well.
import { bytesToHex, decodeTransaction, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { RefusedByNode } from "../support/modelChain.js";
import { approvalOf, changePolicy, REGISTRY, targets, withRegistry } from "../support/policies.js";
import { ScriptedNode } from "../support/scriptedNode.js";
import { outcomeOf, type TestService, testServices } from "../support/testService.js";
import { APPROVE, hashOf, innerOf, userAddress, WAIVER } from "../support/user.js";

const services = testServices({ patience: { speed: 10 } });
const INCLUDED = { query: "?wait=included" };

const spares: ScriptedNode[] = [];
afterEach(async () => {
  await Promise.all(spares.splice(0).map((node) => node.close()));
});

/** Starts a service with two nodes of one chain, the first of which it prefers. */
async function onTwoNodes(
  ...options: Parameters<typeof services.start>
): Promise<{ service: TestService; first: ScriptedNode }> {
  const before = await services.start(...options);
  const first = before.node;
  const spare = await ScriptedNode.start({ chain: first.chain });
  spares.push(spare);
  await before.server.close();
  const changes = { rpcUrl: [first.url, spare.url] };
  return { service: services.closeAfterTest(await before.startReplica(changes)), first };
}

/** Whatever a node may answer instead of what was asked. */
const ANSWERS = {
  "an empty list": () => [],
  "an empty object": () => ({}),
  "an internal error": () => {
    throw new RefusedByNode("internal error");
  },
};
/** The methods that a lane and its watch read. */
const METHODS = [
  "eth_getTransactionCount",
  "eth_getTransactionReceipt",
  "eth_getTransactionByHash",
  "eth_getBlockByNumber",
  "eth_blockNumber",
];
const CASES = METHODS.flatMap((method) =>
  Object.entries(ANSWERS).map(([name, by]) => ({ method, name, by })),
);

describe("a node that does not tell one method", () => {
  it("because it has no index of receipts, and says that there are none, keeps no outcome back that another has", async () => {
    const { service, first } = await onTwoNodes();
    first.answers.eth_getTransactionReceipt = () => null;
    first.answers.eth_getTransactionByHash = () => null;
    const lines = await service.submit([innerOf(1), innerOf(2), innerOf(3)], INCLUDED);
    expect(lines.map(outcomeOf)).toEqual(Array(3).fill("success"));
    const carriers = await service.query("select wrapper_hash is not null as own from finished");
    expect(carriers).toEqual(Array(3).fill({ own: true }));
  });

  it.each(CASES)(
    "as with $name to $method, keeps nothing from being executed and told",
    async ({ method, by }) => {
      const { service, first } = await onTwoNodes();
      first.answers[method] = by;
      for (const from of [1, 4]) {
        const inners = [innerOf(from), innerOf(from + 1), innerOf(from + 2)];
        expect((await service.submit(inners, INCLUDED)).map(outcomeOf)).toEqual(Array(3).fill("success"));
        expect(first.chain.executed).toEqual(expect.arrayContaining(inners.map(hashOf)));
      }
    },
  );

  it.each(["eth_call", "eth_getLogs"])(
    "as with %s, lets no change of a policy pass unseen",
    async (method) => {
      const { service, first } = await onTwoNodes(REGISTRY, { prepare: withRegistry() });
      first.answers[method] = ANSWERS["an internal error"];
      await changePolicy(service, targets(APPROVE));
      expect((await service.submit([approvalOf(1)], INCLUDED)).map(outcomeOf)).toEqual(["success"]);
    },
  );
});

describe("a node that takes no wrapper", () => {
  it.each([
    // geth 1.16 with its default price limit, a provider's plan without sends, and cosmos/evm whose pool stays full.
    { code: -32_000, message: "transaction gas price below minimum: gas tip cap 0, minimum needed 1" },
    { code: -32_601, message: "eth_sendRawTransaction is not available on your plan" },
    { code: -32_000, message: "txpool is full" },
    // A cache that remembers what its pool has lost, a pool whose state stands still, and one with another wrapper.
    { code: -32_000, message: "tx already exists in cache" },
    { code: -32_000, message: "invalid nonce; got 0, expected 3: invalid sequence" },
    { code: -32_000, message: "invalid nonce; got 5, expected 3: invalid sequence" },
    { code: -32_000, message: "replacement transaction underpriced" },
  ])("and answers each with %j for good, keeps none from the next node", async (error) => {
    const { service, first } = await onTwoNodes();
    first.onSends({ kind: "error", of: () => error });
    for (const from of [1, 4]) {
      const inners = [innerOf(from), innerOf(from + 1), innerOf(from + 2)];
      expect((await service.submit(inners, INCLUDED)).map(outcomeOf)).toEqual(Array(3).fill("success"));
    }
  });

  it("for its price limit, lets fail what the next node refuses by a rule", async () => {
    const { service, first } = await onTwoNodes();
    first.onSends({ kind: "error", of: () => ({ code: -32_000, message: "transaction underpriced" }) });
    const poor = new Set([innerOf(1), innerOf(3)]);
    const refusal = { code: -32_000, message: "insufficient funds for transfer" };
    const isPoor = (raw: Hex) => poor.has(bytesToHex(decodeTransaction(hexToBytes(raw)).data));
    spares[0]?.onSends({ kind: "error", of: (raw) => (isPoor(raw) ? refusal : undefined) });
    // Its first wrapper went to both, so it waits until another transaction has used the nonce.
    const line = service.submit([innerOf(1)], INCLUDED);
    await first.until(() => (spares[0]?.sent.length ?? 0) > 0);
    expect((await service.submit([innerOf(2)], INCLUDED)).map(outcomeOf)).toEqual(["success"]);
    const refused = "VALIDATION_FAILED/INSUFFICIENT_BALANCE";
    expect((await line).map(outcomeOf)).toEqual([refused]);
    expect((await service.submit([innerOf(3)])).map(outcomeOf)).toEqual([refused]);
  });
});

describe("a node whose chain stands still", () => {
  it("goes on getting what comes, although it takes nothing new of what it is sent again", async () => {
    const { service, first } = await onTwoNodes(
      { resendAfterMs: 50, pollIntervalMs: 20 },
      { automine: false },
    );
    const [second] = spares as [ScriptedNode];
    await service.submit([innerOf(1)]);
    await first.until(() => first.sent.length > 10);
    await service.submit([innerOf(2)]);
    expect(second.sent).toEqual([]);
  });
});

describe("a node that tells 0 as the nonce of an account that it cannot read, as cosmos/evm does", () => {
  it("makes no transaction fail for nonces that another node knows as used", async () => {
    const { service, first } = await onTwoNodes({ nonceGapTimeoutMs: 300 });
    first.chain.setNonce(userAddress(1), 7n);
    let asked = 0;
    first.answers.eth_getTransactionCount = ([address], answer) => {
      if (address !== userAddress(1)) return answer();
      asked++;
      return "0x0";
    };
    const line = service.submit([innerOf(1, 7)], INCLUDED);
    await first.until(() => asked >= 8);
    expect((await service.submit([innerOf(2)], INCLUDED)).map(outcomeOf)).toEqual(["success"]);
    delete first.answers.eth_getTransactionCount;
    expect((await line).map(outcomeOf)).toEqual(["success"]);
  });
});

describe("a node that tells a nonce of a sender as used", () => {
  it("fails no submission of that sender which another node would take", async () => {
    const { service, first } = await onTwoNodes();
    let asked = 0;
    first.answers.eth_getTransactionCount = ([address], answer) => {
      if (address !== userAddress(1)) return answer();
      asked++;
      return "0x7";
    };
    const line = service.submit([innerOf(1)], INCLUDED);
    await first.until(() => asked >= 3);
    expect((await service.submit([innerOf(2)], INCLUDED)).map(outcomeOf)).toEqual(["success"]);
    delete first.answers.eth_getTransactionCount;
    expect((await line).map(outcomeOf)).toEqual(["success"]);
  });

  it("for a moment, as the endpoint of Flashbots does to free wallets of a nonce, fails nothing where it is the only one", async () => {
    const service = await services.start();
    let lies = 4;
    service.node.answers.eth_getTransactionCount = ([address], answer) =>
      address === userAddress(1) && lies-- > 0 ? "0x3b9aca01" : answer();
    expect((await service.submit([innerOf(1)], INCLUDED)).map(outcomeOf)).toEqual(["success"]);
    expect(lies).toBeLessThan(0);
  });

  it("for a moment and for another, with the right one told between them, fails nothing that waits for its turn", async () => {
    const service = await services.start();
    let lies = 0;
    let told = 0;
    service.node.answers.eth_getTransactionCount = ([address], answer) => {
      if (address === userAddress(1) && lies-- > 0) return "0x3b9aca01";
      if (address === userAddress(1)) told++;
      return answer();
    };
    let hasEnded = false;
    const second = service.submit([innerOf(1, 1)], INCLUDED).finally(() => {
      hasEnded = true;
    });
    for (const moment of [0, 4, 4]) {
      lies = moment;
      told = 0;
      while (told < 2 && !hasEnded)
        await Promise.race([second, service.node.nextCall("eth_getTransactionCount")]);
    }
    const [first] = await service.submit([innerOf(1)], INCLUDED);
    expect([first, ...(await second)].map((line) => line && outcomeOf(line))).toEqual(["success", "success"]);
  });

  it("above all that there can be, has not told it", async () => {
    const { service, first } = await onTwoNodes();
    first.answers.eth_getTransactionCount = () => `0x${"ab".repeat(32)}`;
    expect((await service.submit([innerOf(1)], INCLUDED)).map(outcomeOf)).toEqual(["success"]);
  });
});

describe("a node whose nonces stand still while its blocks go on", () => {
  it.each([
    ["of all accounts", () => true],
    ["of the waiver", (account: unknown) => account === WAIVER],
  ])("%s, keeps no outcome back, and nothing from being sent", async (_, standsStill) => {
    const service = await services.start({ resendAfterMs: 300 });
    const { node } = service;
    await service.submit([innerOf(9)], INCLUDED);
    const first = new Map<unknown, unknown>();
    node.answers.eth_getTransactionCount = ([account], answer) => {
      if (!standsStill(account)) return answer();
      if (!first.has(account)) first.set(account, answer());
      return first.get(account);
    };
    node.answers.eth_blockNumber = (_params, answer) => {
      node.mine();
      return answer();
    };
    for (const user of [1, 2])
      expect((await service.submit([innerOf(user), innerOf(user, 1)], INCLUDED)).map(outcomeOf)).toEqual(
        Array(2).fill("success"),
      );
  });
});
