import { bytesToHex, type Hex, MARKER_ADDRESS } from "@gas-waiver/protocol";

/** A wrapper in a block, with the InnerTx that ran after it. */
export interface Execution {
  readonly block: number;
  readonly wrapperHash: Hex;
  readonly waiver: Hex;
  readonly waiverNonce: number;
  readonly innerHash: Hex;
  readonly sender: Hex;
  readonly senderNonce: number;
  readonly reverted: boolean;
}

interface RpcTransaction {
  readonly hash: Hex;
  readonly from: Hex;
  readonly to: Hex | null;
  readonly nonce: Hex;
}

const MARKER = bytesToHex(MARKER_ADDRESS);

/** Longer than any answer takes. A devnet with faults may not answer at all. */
const TIMEOUT_MS = 30_000;

/** The run's own client of the devnet: its control methods, which no fault affects, and its blocks. */
export class DevnetClient {
  readonly #url: string;
  /** All executions, in the order of the blocks. */
  readonly executions: Execution[] = [];
  #scanned = 0;

  constructor(url: string) {
    this.#url = url;
  }

  async call<T>(method: string, ...params: readonly unknown[]): Promise<T> {
    const [result] = await this.#batch<T>([{ method, params }]);
    return result as T;
  }

  async head(): Promise<number> {
    return Number(await this.call<Hex>("eth_blockNumber"));
  }

  async nonces(addresses: readonly Hex[]): Promise<number[]> {
    const method = "eth_getTransactionCount";
    const nonces = await this.#batch<Hex>(
      addresses.map((address) => ({ method, params: [address, "latest"] })),
    );
    return nonces.map(Number);
  }

  /** Forgets the executions above a block that a reorg has removed. */
  rewind(block: number): void {
    const first = this.executions.findIndex((execution) => execution.block > block);
    this.#scanned = Math.min(this.#scanned, block);
    if (first >= 0) this.executions.splice(first);
  }

  /** The latest block that was read. */
  get scanned(): number {
    return this.#scanned;
  }

  /** Reads the blocks since the last scan. */
  async scan(): Promise<void> {
    const head = await this.head();
    for (; this.#scanned < head; this.#scanned++) {
      const number = `0x${(this.#scanned + 1).toString(16)}`;
      const block = await this.call<{ transactions: RpcTransaction[] }>("eth_getBlockByNumber", number, true);
      await this.#read(this.#scanned + 1, block.transactions);
    }
  }

  async #read(block: number, transactions: readonly RpcTransaction[]): Promise<void> {
    const pairs = transactions.flatMap((wrapper, i) => {
      const inner = transactions[i + 1];
      return wrapper.to === MARKER && inner ? [{ wrapper, inner }] : [];
    });
    const method = "eth_getTransactionReceipt";
    const receipts = await this.#batch<{ status: Hex }>(
      pairs.map(({ inner }) => ({ method, params: [inner.hash] })),
    );
    pairs.forEach(({ wrapper, inner }, i) => {
      this.executions.push({
        block,
        wrapperHash: wrapper.hash,
        waiver: wrapper.from,
        waiverNonce: Number(wrapper.nonce),
        innerHash: inner.hash,
        sender: inner.from,
        senderNonce: Number(inner.nonce),
        reverted: receipts[i]?.status !== "0x1",
      });
    });
  }

  async #batch<T>(calls: readonly { method: string; params: readonly unknown[] }[]): Promise<T[]> {
    if (calls.length === 0) return [];
    const body = JSON.stringify(calls.map((call, id) => ({ jsonrpc: "2.0", id, ...call })));
    const answers = (await this.#post(body)) as { id: number; result?: T; error?: { message: string } }[];
    return answers
      .sort((a, b) => a.id - b.id)
      .map(({ result, error }, i) => {
        if (error) throw new Error(`${calls[i]?.method}: ${error.message}`);
        return result as T;
      });
  }

  async #post(body: string): Promise<unknown> {
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), TIMEOUT_MS);
    try {
      const headers = { "content-type": "application/json" };
      const response = await fetch(this.#url, { method: "POST", headers, body, signal: timeout.signal });
      return await response.json();
    } finally {
      clearTimeout(timer);
    }
  }
}
