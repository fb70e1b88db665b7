import { bytesToHex, hexToBytes, MARKER_ADDRESS, signTransaction } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { innerOf, WAIVER, WAIVER_KEY } from "../../../packages/server/test/support/user.js";
import { geth } from "../../nodeZoo/gethNodes.js";
import { genesisBlock } from "../chain/block.js";
import { EvidenceLedger } from "../laws/evidenceLedger.js";
import { SimulatedNode } from "../nodes/node.js";
import { createDirectory } from "../outside/directory.js";
import type { Behaviour } from "./behaviour.js";
import { Endpoint } from "./endpoint.js";
import { startBehaviours } from "./running.js";

const CLOCK = { now: () => 1_000, wallMs: () => 1_000, after() {} };

/** A wrapper around the first transaction of a user. */
function wrapped(user: number, nonce: bigint): string {
  const data = hexToBytes(innerOf(user, 0));
  const wrapper = {
    type: "legacy",
    chainId: 2201n,
    nonce,
    gasPrice: 0n,
    gasLimit: 200_000n,
    to: MARKER_ADDRESS,
    value: 0n,
    data,
  } as const;
  return bytesToHex(signTransaction(wrapper, WAIVER_KEY).raw);
}

const OF_FIRST = wrapped(1, 0n);
const OF_SECOND = wrapped(2, 1n);
const send = (id: number, raw: string) => ({
  jsonrpc: "2.0",
  id,
  method: "eth_sendRawTransaction",
  params: [raw],
});
const SENDS = JSON.stringify([send(0, OF_FIRST), send(1, OF_SECOND)]);

/** An endpoint that behaves as told, its node and what the laws know of it. */
function endpointWith(changes: Pick<Behaviour, "subject" | "does">) {
  const directory = createDirectory(2);
  const ledger = new EvidenceLedger(CLOCK, directory.read);
  const [node, anotherNode] = ["node", "another node"].map(
    (name) =>
      new SimulatedNode({
        ...{ name, pool: "keeps", personality: geth, chainId: 2201, genesis: genesisBlock(0, [WAIVER]) },
        onTaken: (wrapper) => ledger.onTaken(wrapper),
      }),
  ) as [SimulatedNode, SimulatedNode];
  const behaviour: Behaviour = { name: "a behaviour", from: 0, to: null, share: 1, ...changes };
  const behaviours = startBehaviours(1, [behaviour]);
  const endpoint = new Endpoint({ place: 0, node, anotherNode, clock: CLOCK, directory, ledger, behaviours });
  const [first, second] = [OF_FIRST, OF_SECOND].map((raw) => directory.read(raw));
  if (first === undefined || second === undefined) throw new Error("no wrappers");
  return { endpoint, node, anotherNode, ledger, first, second };
}

const ERROR = { code: -32_000, message: "no" };

describe("an endpoint", () => {
  it("gives a whole request to the node of another one, where a load balancer stands before both", () => {
    const { endpoint, node, anotherNode, first, second } = endpointWith({
      subject: {},
      does: { deed: "another node" },
    });
    endpoint.request(SENDS, false);
    expect(node.pool.wrappers).toEqual([]);
    expect(anotherNode.pool.wrappers).toEqual([first, second]);
  });

  it("refuses the calls of one sender, and serves the other's in the same list", () => {
    const { endpoint, node, second } = endpointWith({
      subject: { sender: 1 },
      does: { deed: "error", when: "before", error: ERROR },
    });
    const reaction = endpoint.request(SENDS, false);
    expect(reaction.kind === "answer" && JSON.parse(reaction.body)).toEqual([
      { jsonrpc: "2.0", id: 0, error: ERROR },
      { jsonrpc: "2.0", id: 1, result: second.hash },
    ]);
    expect(node.pool.wrappers).toEqual([second]);
  });

  it("refuses a whole list with one object because of one sender, after the node has taken all of it", () => {
    const does = { deed: "one error", when: "after", status: 402, error: ERROR, id: null } as const;
    const { endpoint, node, ledger, first } = endpointWith({ subject: { sender: 1 }, does });
    const reaction = endpoint.request(SENDS, false);
    expect(reaction).toMatchObject({ kind: "answer", status: 402 });
    expect([node.pool.wrappers.length, ledger.refusalsOf(first.innerHash).length]).toEqual([2, 0]);
  });

  it("resets kept connections alone, and counts each request that had one as a delivery", () => {
    const does = { deed: "reset", when: "after", keptOnly: true } as const;
    const { endpoint, ledger, first } = endpointWith({ subject: {}, does });
    expect([endpoint.request(SENDS, true).kind, endpoint.request(SENDS, false).kind]).toEqual([
      "reset",
      "answer",
    ]);
    expect([ledger.deliveriesOf(first.hash), ledger.refusalsOf(first.innerHash).length]).toEqual([2, 1]);
  });

  it("accepts a wrapper and forgets it at once", () => {
    const { endpoint, node, first } = endpointWith({ subject: { sender: 1 }, does: { deed: "forget" } });
    const reaction = endpoint.request(JSON.stringify(send(7, OF_FIRST)), false);
    expect(reaction.kind === "answer" && JSON.parse(reaction.body)).toMatchObject({
      id: 7,
      result: first.hash,
    });
    expect(node.pool.wrappers).toEqual([]);
  });

  it("leaves lists alone that are short enough", () => {
    const does = { deed: "hang", when: "before" } as const;
    const { endpoint } = endpointWith({ subject: { moreThan: 1 }, does });
    expect(endpoint.request(SENDS, false).kind).toBe("hang");
    expect(endpoint.request(JSON.stringify(send(0, OF_FIRST)), false).kind).toBe("answer");
  });

  it("refuses only look-ups of what the node does not have", () => {
    const subject = { method: "eth_getTransactionByHash", unknown: true };
    const { endpoint, first, second } = endpointWith({
      subject,
      does: { deed: "error", when: "after", error: ERROR },
    });
    endpoint.request(JSON.stringify(send(0, OF_FIRST)), false);
    const answers = [first.hash, second.hash].map((hash) => {
      const reaction = endpoint.request(
        JSON.stringify({ id: 1, method: subject.method, params: [hash] }),
        false,
      );
      return reaction.kind === "answer" && "error" in JSON.parse(reaction.body);
    });
    expect(answers).toEqual([false, true]);
  });
});
