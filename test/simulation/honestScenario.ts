import { bytesToHex, decodeInnerTx, type Hex, hashTransaction, hexToBytes } from "@gas-waiver/protocol";
import { ModelChain } from "../../packages/server/test/support/modelChain.js";
import { innerOf } from "../../packages/server/test/support/user.js";
import type { EndpointRequest, SimulatedEndpoint } from "./net.js";
import type { Scenario, World } from "./world.js";

const BLOCK_MS = 500;

interface Submission {
  readonly sender: number;
  readonly nonce: number;
  readonly hash: Hex;
  readonly at: number;
  readonly lines: string[];
}

/** One honest node behind each endpoint, and users who send their transactions one after the other. */
export function setUpHonest(world: World): Scenario {
  const { plan } = world;
  const chain = new ModelChain("strict");
  chain.now = world.date;
  for (let i = 0; i < plan.endpoints; i++) world.network.endpoints.set(`node${i}`, new HonestNode(chain));
  world.every(BLOCK_MS, () => chain.mine());
  const submissions: Submission[] = [];
  const submit = async (sender: number, nonce: number) => {
    const replica = world.replicas.find(({ isRunning }) => isRunning);
    const tx = innerOf(sender, nonce);
    const hash = bytesToHex(hashTransaction(decodeInnerTx(hexToBytes(tx))));
    const submission: Submission = { sender, nonce, hash, at: world.now(), lines: [] };
    submissions.push(submission);
    const tell = (line: string) => {
      submission.lines.push(line);
      world.note(`line ${sender}/${nonce} ${line}`);
    };
    try {
      if (replica?.network === undefined) throw new Error("no replica runs");
      const { intake } = replica.network.parts.relay;
      await replica.run(async () => {
        for await (const group of await intake.submit(replica.caller, [tx], "broadcast"))
          for (const line of group) tell(line.success ? "ok" : `${line.error.code}/${line.error.reason}`);
      });
    } catch (error) {
      tell(`refused ${(error as Error).message}`);
    }
  };
  const total = plan.senders * plan.submissions;
  return {
    begin() {
      const draw = world.random("users");
      const spacing = (plan.lengthMs * 0.6) / plan.submissions;
      for (let sender = 1; sender <= plan.senders; sender++)
        for (let nonce = 0; nonce < plan.submissions; nonce++)
          world.at((nonce + draw.next()) * spacing, () => void submit(sender, nonce));
    },
    isOver: () => submissions.length === total && chain.executed.length === total,
    judge() {
      const executed = new Set(chain.executed);
      const late = submissions.filter(({ hash }) => !executed.has(hash));
      const violations = late.map(({ sender, nonce, lines }) => ({
        law: "L1",
        text: `sender ${sender} nonce ${nonce} is in no block; lines: ${lines.join()}`,
      }));
      if (chain.height === 0) violations.push({ law: "harness", text: "the chain had no blocks" });
      return { violations, counts: { executed: executed.size, submissions: submissions.length } };
    },
  };
}

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params?: readonly unknown[];
}

class HonestNode implements SimulatedEndpoint {
  readonly #chain: ModelChain;

  constructor(chain: ModelChain) {
    this.#chain = chain;
  }

  answer({ body }: EndpointRequest) {
    const asked = JSON.parse(body) as Call | Call[];
    const told = Array.isArray(asked) ? asked.map((call) => this.#one(call)) : this.#one(asked);
    return { is: "answer", status: 200, body: JSON.stringify(told) } as const;
  }

  #one({ id, method, params = [] }: Call): object {
    try {
      return { jsonrpc: "2.0", id, result: this.#resultOf(method, params) };
    } catch (error) {
      const { message, data } = error as Error & { data?: unknown };
      return { jsonrpc: "2.0", id, error: { code: -32_000, message, ...(data !== undefined && { data }) } };
    }
  }

  #resultOf(method: string, params: readonly unknown[]): unknown {
    if (method === "eth_syncing") return false;
    if (method !== "eth_sendRawTransaction") return this.#chain.read(method, params);
    return bytesToHex(this.#chain.addToPool(hexToBytes(params[0] as Hex)));
  }
}
