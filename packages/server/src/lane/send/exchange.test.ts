import { describe, expect, it } from "vitest";
import { NodeRpcError, type RpcOutcome, RpcUnavailableError } from "../../chain/rpc/rpc.js";
import { createExchange } from "./exchange.js";

const WRAPPERS = [1, 2, 3, 4].map((fill) => new Uint8Array(4).fill(fill));
const SILENCE: RpcOutcome = { error: new RpcUnavailableError("no answer", "unknown") };
const ANSWER: RpcOutcome = { error: new NodeRpcError(-32_000, "no") };

/** Exchanges with a node that answers no request with a culprit, and reads only if `answersReads`. */
function exchangeWith(options: { readonly culprits: readonly number[]; readonly answersReads: boolean }) {
  const requests: number[][] = [];
  const exchange = createExchange({
    blockNumber: () => (options.answersReads ? Promise.resolve(1n) : Promise.reject(new Error("no answer"))),
    async sendRawTransactions(raws) {
      const sent = raws.map(([fill]) => fill ?? 0);
      requests.push(sent);
      return raws.map(() => (sent.some((one) => options.culprits.includes(one)) ? SILENCE : ANSWER));
    },
  });
  const kinds = async () =>
    (await exchange(WRAPPERS)).map((outcome) => {
      if (!("error" in outcome) || outcome.error instanceof NodeRpcError) return "answered";
      return outcome.error.sent === "no" ? "held back" : "silent";
    });
  return { kinds, requests };
}

describe("wrappers that follow an exchange without any answer", () => {
  it("go one by one past the one that keeps a request from its answer, and together again afterwards", async () => {
    const node = { culprits: [1], answersReads: true };
    const { kinds, requests } = exchangeWith(node);
    expect(await kinds()).toEqual(Array(4).fill("silent"));
    expect(await kinds()).toEqual(["silent", "answered", "answered", "answered"]);
    node.culprits = [];
    await kinds();
    expect(requests).toEqual([[1, 2, 3, 4], [1], [2], [3], [4], [1, 2, 3, 4]]);
  });

  it("cost one request where the node is away", async () => {
    const node = { culprits: [1, 2, 3, 4], answersReads: false };
    const { kinds, requests } = exchangeWith(node);
    await kinds();
    for (let resend = 0; resend < 3; resend++)
      expect(await kinds()).toEqual(["silent", ...Array(3).fill("held back")]);
    expect(requests).toEqual([[1, 2, 3, 4], [1], [1], [1]]);
  });

  it("are held back behind two in a row without an answer, also where the node answers reads", async () => {
    const { kinds } = exchangeWith({ culprits: [2, 3], answersReads: true });
    await kinds();
    expect(await kinds()).toEqual(["answered", "silent", "silent", "held back"]);
  });
});
