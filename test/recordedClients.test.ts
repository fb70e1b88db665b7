// Clients that a test cannot install, on the gateway: their recorded requests, byte for byte, and the parts of the answers
// that the clients need. test/recorded has both, with where each was found.
import { readdirSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { registryService } from "./support/registryService.js";
import { account, CHAIN_ID, TOKEN, token, transferData } from "./support/user.js";

/** A request with variables such as `$from`, and what its client makes of the answer. */
interface Exchange {
  readonly request: string;
  /** The members that the client's decoder requires. */
  readonly needs?: readonly string[];
  /** The members from which the client would conclude something else. */
  readonly lacks?: readonly string[];
}

interface Recording {
  readonly client: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly firstId: number;
  /** Its requests before it sends. */
  readonly connect: readonly Exchange[];
  /** Its requests for one transaction. */
  readonly send: readonly Exchange[];
  readonly receipt: Exchange;
}

const folder = new URL("recorded/", import.meta.url);
const recordings = readdirSync(folder).map(
  (file): Recording => JSON.parse(readFileSync(new URL(file, folder), "utf8")),
);

const KEY = "gwp_test_recorded";
const started = registryService([10], { publicApiKeys: [KEY] });
let url: string;
beforeAll(() => {
  url = `${started().url}/rpc/${KEY}`;
});

/** A client that makes the requests of a recording, and signs with what it is answered. */
class ReplayedClient {
  readonly #recording: Recording;
  readonly #wallet: ReturnType<typeof account>;
  readonly #variables: Record<string, string>;
  #id: number;

  constructor(recording: Recording, wallet: ReturnType<typeof account>, recipient: string) {
    this.#recording = recording;
    this.#wallet = wallet;
    this.#id = recording.firstId;
    const { address } = wallet;
    const data = transferData(recipient, 1n);
    // Clients write addresses with a checksum or in lower case.
    this.#variables = {
      From: address,
      from: address.toLowerCase(),
      To: TOKEN,
      to: TOKEN.toLowerCase(),
      data,
    };
  }

  async connect(): Promise<void> {
    for (const exchange of this.#recording.connect) await this.#ask(exchange);
  }

  /** @returns the hash and the nonce of the transaction. */
  async send(): Promise<{ readonly hash: string; readonly nonce: number }> {
    for (const exchange of this.#recording.send) {
      if (exchange.request.includes("$raw")) this.#variables.raw = await this.#sign();
      const result = await this.#ask(exchange);
      if (typeof result === "string") this.#remember(exchange, result);
    }
    const { hash = "", nonce } = this.#variables;
    return { hash, nonce: Number(nonce) };
  }

  async receiptOf(hash: string): Promise<Record<string, unknown>> {
    this.#variables.hash = hash;
    for (;;) {
      const receipt = await this.#ask(this.#recording.receipt, true);
      if (receipt !== null) return receipt as Record<string, unknown>;
    }
  }

  #remember({ request }: Exchange, result: string): void {
    const names = {
      eth_gasPrice: "gasPrice",
      eth_estimateGas: "gas",
      eth_getTransactionCount: "nonce",
      eth_sendRawTransaction: "hash",
    };
    const { method } = JSON.parse(request.replaceAll("$id", "0")) as { method: keyof typeof names };
    if (method in names) this.#variables[names[method]] = result;
  }

  #sign(): Promise<string> {
    const { gasPrice, gas, nonce, data = "0x" } = this.#variables;
    const numbers = { gasPrice: BigInt(gasPrice ?? -1), gasLimit: BigInt(gas ?? -1), nonce: Number(nonce) };
    return this.#wallet.signTransaction({ type: 0, chainId: CHAIN_ID, to: TOKEN, data, ...numbers });
  }

  async #ask({ request, needs = [], lacks = [] }: Exchange, mayBeNull = false): Promise<unknown> {
    const id = this.#id++;
    const body = request.replaceAll("$id", String(id)).replace(/\$(\w+)/g, (_, name) => {
      const value = this.#variables[name];
      if (value === undefined) throw new Error(`${this.#recording.client} does not know its ${name}`);
      return value;
    });
    const response = await fetch(url, { method: "POST", headers: this.#recording.headers, body });
    expect(response.headers.get("content-type")).toMatch(/^application\/json/);
    const answer = (await response.json()) as { readonly id: number; readonly result?: unknown };
    expect(answer).toMatchObject({ jsonrpc: "2.0", id });
    expect(answer).not.toHaveProperty("error");
    const { result } = answer;
    if (result === null && mayBeNull) return null;
    expect(result).toEqual(expect.anything());
    if (typeof result === "object") {
      const members = Object.keys(result ?? {});
      expect(members).toEqual(expect.arrayContaining([...needs]));
      expect(members.filter((member) => lacks.includes(member))).toEqual([]);
    }
    return result;
  }
}

describe.each(recordings.map((recording, i) => ({ ...recording, user: i })))("$client", (recording) => {
  it("sends ten in a row without waiting, without native balance, and reads the events", async () => {
    const wallet = account(recording.user);
    const balance = () => started().rpc<string>("eth_getBalance", wallet.address, "latest");
    expect(await balance()).toBe("0x0");
    const client = new ReplayedClient(recording, wallet, account(9).address);
    await client.connect();
    const sent = [];
    for (let i = 0; i < 10; i++) sent.push(await client.send());
    expect(sent.map(({ nonce }) => nonce)).toEqual(Array.from({ length: 10 }, (_, nonce) => nonce));
    for (const { hash } of sent) {
      const { status, effectiveGasPrice, logs } = await client.receiptOf(hash);
      expect([status, effectiveGasPrice]).toEqual(["0x1", "0x0"]);
      const [log] = logs as { readonly topics: string[]; readonly data: string }[];
      expect(log && token.parseLog(log)?.args.amount).toBe(1n);
    }
    expect(await balance()).toBe("0x0");
  });
});
