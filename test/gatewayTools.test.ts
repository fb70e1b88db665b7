// Unmodified tools on the gateway, by its URL alone, with accounts that have no native balance.
import { fileURLToPath } from "node:url";
import { type Hex, parseAbi } from "viem";
import { beforeAll, describe, expect, it } from "vitest";
import { installProject } from "../scripts/install.mjs";
import { type FoundryProgram, pathOf, runFoundry } from "./support/foundry.js";
import { registryService } from "./support/registryService.js";
import { account, TOKEN, token } from "./support/user.js";

const RECIPIENT = account(9).address;
const KEY = "gwp_test_tools";
const started = registryService([10], { publicApiKeys: [KEY] });
let url: string;
beforeAll(() => {
  url = `${started().url}/rpc/${KEY}`;
});

const nativeBalance = async (i: number) =>
  BigInt(await started().rpc<string>("eth_getBalance", account(i).address, "latest"));
const nonceOf = async (i: number) =>
  Number(await started().rpc<string>("eth_getTransactionCount", account(i).address, "latest"));
const FROM_0_TO_9 = Array.from({ length: 10 }, (_, nonce) => nonce);

interface RpcReceipt {
  readonly status: Hex;
  readonly effectiveGasPrice: Hex;
  readonly logs: readonly { readonly topics: string[]; readonly data: string }[];
}

/** The amount of the transfer in a receipt, which must be of a success that cost nothing. */
function amountIn({ status, effectiveGasPrice, logs }: RpcReceipt): bigint {
  expect([BigInt(status), BigInt(effectiveGasPrice)]).toEqual([1n, 0n]);
  return logs.map((log) => token.parseLog(log)?.args.amount)[0];
}

/** The part of web3.js that the test uses. */
interface Web3Library {
  readonly Web3: new (
    url: string,
  ) => {
    setConfig(settings: object): void;
    readonly eth: {
      readonly accounts: { readonly wallet: { add(key: string): readonly { readonly address: string }[] } };
      readonly Contract: new (
        abi: readonly object[],
        address: string,
      ) => { readonly methods: Record<string, (...args: unknown[]) => { send(options: object): Sending }> };
      getTransactionCount(address: string, block: "pending"): Promise<bigint>;
    };
  };
}

interface Sending
  extends Promise<{
    readonly events?: Record<string, { readonly returnValues: object }>;
  }> {
  once(event: "transactionHash", listener: (hash: string) => void): void;
}

const { Web3 }: Web3Library = (await installProject("integrations/web3"))("web3");

describe("web3.js", () => {
  it("sends ten calls of a contract in a row, with the nonces of the pending state, and reads their events", async () => {
    const web3 = new Web3(url);
    web3.setConfig({ defaultTransactionType: "0x0", transactionPollingInterval: 50 });
    const { address: from } = web3.eth.accounts.wallet.add(account(5).privateKey)[0] ?? { address: "" };
    const abi = ["function transfer(address to, uint256 amount) returns (bool)"] as const;
    const events = ["event Transfer(address indexed from, address indexed to, uint256 amount)"] as const;
    const contract = new web3.eth.Contract(parseAbi([...abi, ...events]), TOKEN);
    expect(await nativeBalance(5)).toBe(0n);
    const sent = [];
    const nonces: number[] = [];
    for (let i = 0; i < 10; i++) {
      const nonce = await web3.eth.getTransactionCount(from, "pending");
      nonces.push(Number(nonce));
      const sending = contract.methods.transfer?.(RECIPIENT, 1n).send({ from, nonce: String(nonce) });
      await new Promise((resolve) => sending?.once("transactionHash", resolve));
      sent.push(sending);
    }
    expect(nonces).toEqual(FROM_0_TO_9);
    for (const receipt of await Promise.all(sent)) {
      expect(receipt).toMatchObject({ status: 1n, effectiveGasPrice: 0n });
      expect(receipt?.events?.Transfer?.returnValues).toMatchObject({ amount: 1n });
    }
    expect(await nativeBalance(5)).toBe(0n);
  });
});

/** Says in the name of the test where npm has no binary for this machine, and skips it. */
const ifInstalled = (program: FoundryProgram, name: string, test: () => Promise<void>) =>
  it.skipIf(pathOf(program) === undefined)(
    pathOf(program) === undefined ? `${name} (npm has no ${program} for this machine)` : name,
    test,
  );
const signer = (i: number) => ["--rpc-url", url, "--legacy", "--private-key", account(i).privateKey];

describe("cast", () => {
  ifInstalled(
    "cast",
    "sends, waits for the receipt, and sends ten without waiting by the pending nonce",
    async () => {
      expect(await nativeBalance(6)).toBe(0n);
      const call = [TOKEN, "transfer(address,uint256)", RECIPIENT, "1"];
      const receipt = JSON.parse(await runFoundry("cast", ["send", ...signer(6), "--json", ...call]));
      expect(amountIn(receipt)).toBe(1n);
      const pendingNonce = ["nonce", "--rpc-url", url, "--block", "pending", account(6).address];
      const hashes: string[] = [];
      for (let i = 1; i < 10; i++) {
        const nonce = (await runFoundry("cast", pendingNonce)).trim();
        expect(nonce).toBe(String(i));
        const sent = await runFoundry("cast", ["send", ...signer(6), "--async", "--nonce", nonce, ...call]);
        hashes.push(sent.trim());
      }
      const last = await runFoundry("cast", ["receipt", "--rpc-url", url, "--json", hashes.at(-1) ?? ""]);
      expect(amountIn(JSON.parse(last))).toBe(1n);
      expect([await nonceOf(6), await nativeBalance(6)]).toEqual([10, 0n]);
    },
  );
});

describe("forge", () => {
  ifInstalled("forge", "broadcasts ten transactions of a script, and waits for their receipts", async () => {
    const file = (name: string) => fileURLToPath(new URL(`./foundry/${name}`, import.meta.url));
    expect(await nativeBalance(7)).toBe(0n);
    const output = await runFoundry("forge", [
      ...["script", `${file("TenTransfers.s.sol")}:TenTransfers`, "--root", ".", "--offline"],
      ...["--use", file("solc.mjs"), ...signer(7), "--broadcast", "--json"],
      ...["--sig", "run(address,address)", TOKEN, RECIPIENT],
    ]);
    const lines = output.split("\n").filter((line) => line.includes('"tx_hash"'));
    const outcomes = lines.map((line) => JSON.parse(line));
    expect(outcomes).toEqual(Array(10).fill(expect.objectContaining({ status: "success", gas_price: 0 })));
    const receipts = outcomes.map(({ tx_hash }) =>
      started().rpc<RpcReceipt>("eth_getTransactionReceipt", tx_hash),
    );
    expect((await Promise.all(receipts)).map(amountIn)).toEqual(Array(10).fill(1n));
    expect([await nonceOf(7), await nativeBalance(7)]).toEqual([10, 0n]);
  });
});
