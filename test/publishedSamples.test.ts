// Programs after the interface of the chain's public guides (github.com/stablelabs/dev-docs), against a devnet with its profile: two
// addresses are other than there. Current ethers, as the guides have it.
import { accountsOf, type DevnetAccount } from "@gas-waiver/devnet";
import {
  decodeRlp,
  encodeRlp,
  Interface,
  JsonRpcProvider,
  parseEther,
  parseUnits,
  randomBytes,
  Signature,
  Transaction,
  type TransactionRequest,
  Wallet,
} from "ethers";
import fc from "fast-check";
import { type Dev, startDev } from "gas-waiver";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshFolder } from "./support/freshFolder.js";

const CHAIN_ID = 2201;
const MARKER = "0x000000000000000000000000000000000000f333";
const USDT0 = "0x78Cf24370174180738C5B8E352B6D14c83a6c9A9";
const token = new Interface([
  "function transfer(address to, uint256 amount) returns (bool)",
  "function balanceOf(address owner) view returns (uint256)",
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)",
]);

let dev: Dev;
let provider: JsonRpcProvider;
beforeAll(async () => {
  dev = await startDev({ profile: "stable", cacheDir: freshFolder() });
  // ethers' own polling waits 4 s by default.
  // ethers otherwise answers a balance from its own memory for a quarter of a second.
  provider = new JsonRpcProvider(dev.rpcUrl, undefined, { pollingInterval: 50, cacheTimeout: -1 });
});
afterAll(async () => {
  provider.destroy();
  await dev.stop();
});

const walletOf = ({ privateKey }: DevnetAccount) => new Wallet(privateKey, provider);
const user = (index: number) => walletOf(dev.users[index] as DevnetAccount);
const account = (role: "waiver" | "funded", index = 0) => walletOf(accountsOf(role)[index] as DevnetAccount);

/** Signs a transfer with a price of 0, as the guides do: a gas price, and no type. */
async function signInner(from: Wallet, amount: string, changes: TransactionRequest = {}) {
  const data = token.encodeFunctionData("transfer", [user(9).address, parseUnits(amount, 18)]);
  const gasEstimate = await provider.estimateGas({ from: from.address, to: USDT0, data });
  const nonce = await provider.getTransactionCount(from.address);
  const inner = { to: USDT0, data, value: 0, gasPrice: 0, gasLimit: gasEstimate, nonce, chainId: CHAIN_ID };
  return { signed: await from.signTransaction({ ...inner, ...changes }), gasEstimate };
}

interface Line {
  readonly index: number;
  readonly success: boolean;
  readonly txHash: string;
}

/** Submits as the guides do: each chunk of the stream is split at its line ends, and each line is read as JSON. */
async function submit(transactions: readonly string[]): Promise<Line[]> {
  const response = await fetch(`${dev.url}/v1/submit`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${dev.apiKey}` },
    body: JSON.stringify({ transactions }),
  });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  const results: Line[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return results;
    for (const line of decoder.decode(value).trim().split("\n")) results.push(JSON.parse(line));
  }
}

describe("how-to/integrate-gas-waiver and how-to/zero-gas-transactions", () => {
  it("run as they stand: one transfer, whose receipt shows a price of 0", async () => {
    const { signed } = await signInner(user(0), "0.01");
    const [result] = await submit([signed]);
    expect(result).toMatchObject({ index: 0, success: true });
    const receipt = await provider.waitForTransaction(result?.txHash ?? "");
    expect([receipt?.status, receipt?.gasPrice]).toEqual([1, 0n]);
  });

  it("run with several transactions in a request, told apart by their index", async () => {
    const signed = await Promise.all([1, 2, 3].map(async (i) => (await signInner(user(i), "0.001")).signed));
    const results = await submit(signed);
    expect(results.map(({ index }) => index).sort()).toEqual([0, 1, 2]);
    expect(results.every(({ success }) => success)).toBe(true);
    // A waiver is used by hand below: nothing of the service may be on its way to a block then.
    await Promise.all(results.map(({ txHash }) => provider.waitForTransaction(txHash)));
  });

  it("get a line with an error for a price that is not 0", async () => {
    const { signed } = await signInner(user(0), "0.001", { gasPrice: 1 });
    expect(await submit([signed])).toMatchObject([{ success: false, error: { code: "VALIDATION_FAILED" } }]);
  });
});

describe("how-to/self-hosted-gas-waiver", () => {
  const wrap = async (waiver: Wallet, data: string, gasEstimate: bigint, type?: number) =>
    waiver.signTransaction({
      ...{ to: MARKER, data, value: 0, gasPrice: 0, gasLimit: ((gasEstimate * 12n) / 10n) * 2n },
      ...{ nonce: await provider.getTransactionCount(waiver.address), chainId: CHAIN_ID },
      ...(type !== undefined && { type }),
    });

  it("throws with current ethers as it stands: a gas price makes type 1, which is no RLP", async () => {
    const { signed } = await signInner(user(4), "0.01");
    expect(Transaction.from(signed).type).toBe(1);
    expect(() => decodeRlp(signed)).toThrow(/unexpected junk after rlp payload/);
  });

  it("runs with type 0, and the receipt of the wrapper tells the status", async () => {
    const { signed, gasEstimate } = await signInner(user(4), "0.01", { type: 0 });
    const wrapper = await wrap(account("waiver", 1), encodeRlp(decodeRlp(signed)), gasEstimate, 0);
    const hash = await provider.send("eth_sendRawTransaction", [wrapper]);
    expect((await provider.waitForTransaction(hash))?.status).toBe(1);
    expect((await provider.getTransactionReceipt(Transaction.from(signed).hash ?? ""))?.gasPrice).toBe(0n);
  });

  it("has a gas limit that is enough from 21,000 gas on: 2.4 times the estimate of the InnerTx", async () => {
    const waiver = account("waiver", 1);
    const sender = user(5);
    const bytes = fc.oneof(fc.constant(new Uint8Array(0)), fc.uint8Array({ minLength: 4, maxLength: 400 }));
    const input = fc.record({
      data: bytes,
      value: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
      nonce: fc.nat(),
    });
    await fc.assert(
      fc.asyncProperty(input, async ({ data, value, nonce }) => {
        const call = { to: user(9).address, data: `0x${Buffer.from(data).toString("hex")}` };
        const gasEstimate = await provider.estimateGas({ from: sender.address, ...call });
        const inner = {
          ...call,
          value,
          gasPrice: 0,
          gasLimit: gasEstimate,
          nonce,
          chainId: CHAIN_ID,
          type: 0,
        };
        const signed = await sender.signTransaction(inner);
        const needed = await provider.estimateGas({ from: waiver.address, to: MARKER, data: signed });
        expect(needed).toBeLessThanOrEqual(((gasEstimate * 12n) / 10n) * 2n);
      }),
      { numRuns: 40 },
    );
  });
});

describe("reference/gas-pricing-api", () => {
  it("runs as it stands: twice the base fee, and no tip", async () => {
    const block = await provider.getBlock("latest");
    const maxFeePerGas = (block?.baseFeePerGas ?? 0n) * 2n;
    const fees = { maxFeePerGas, maxPriorityFeePerGas: 0n };
    const sent = await account("funded").sendTransaction({
      to: user(9).address,
      value: parseEther("0.01"),
      ...fees,
    });
    const receipt = await sent.wait();
    expect([receipt?.status, receipt?.fee]).toEqual([1, 21_000n * 10n ** 9n]);
    expect(BigInt(await provider.send("eth_maxPriorityFeePerGas", []))).toBe(0n);
  });
});

describe("explanation/erc-3009", () => {
  it("settles a signed authorization through a waiver: neither payer nor sender pays for gas", async () => {
    const method = token.getFunction("transferWithAuthorization")?.format("sighash") ?? "";
    await dev.allow(USDT0, [method]);
    const [payer, sender] = [user(6), user(7)];
    const domain = { name: "USDT0", version: "1", chainId: CHAIN_ID, verifyingContract: USDT0 };
    const type = (name: string, kind: string) => ({ name, type: kind });
    const types = {
      TransferWithAuthorization: [
        ...[type("from", "address"), type("to", "address"), type("value", "uint256")],
        ...[type("validAfter", "uint256"), type("validBefore", "uint256"), type("nonce", "bytes32")],
      ],
    };
    const message = {
      ...{ from: payer.address, to: user(9).address, value: parseUnits("5", 6), validAfter: 0 },
      ...{ validBefore: 2 ** 40, nonce: `0x${Buffer.from(randomBytes(32)).toString("hex")}` },
    };
    const { v, r, s } = Signature.from(await payer.signTypedData(domain, types, message));
    const { from, to, value, validAfter, validBefore, nonce } = message;
    const args = [from, to, value, validAfter, validBefore, nonce, v, r, s];
    const [data, before] = [
      token.encodeFunctionData("transferWithAuthorization", args),
      await provider.getBalance(payer),
    ];
    const receipt = await dev.gasless(sender as never).send({ to: USDT0, data: data as `0x${string}` });
    expect(receipt).toMatchObject({ status: "0x1", effectiveGasPrice: "0x0" });
    expect(before - (await provider.getBalance(payer))).toBe(parseUnits("5", 18));
  });
});

describe("the public endpoint's limit on requests", () => {
  it("is never met with --rpc-rate, whatever is submitted", async () => {
    const limited = await startDev({
      profile: "stable",
      cacheDir: freshFolder(),
      service: { rpcRatePerSecond: 12 },
    });
    try {
      await limited.devnet.request({
        method: "devnet_setFaults",
        params: [{ rateLimit: 20, rateWindowMs: 1_000 }],
      });
      const data = token.encodeFunctionData("transfer", [user(9).address, 1]);
      const transactions = await Promise.all(
        limited.users.slice(0, 8).flatMap(({ privateKey }) =>
          Array.from({ length: 12 }, (_, nonce) =>
            new Wallet(privateKey).signTransaction({
              ...{ to: USDT0, data, gasPrice: 0, gasLimit: 100_000, nonce, chainId: CHAIN_ID, type: 0 },
            }),
          ),
        ),
      );
      const results = await Promise.all(
        [0, 1, 2, 3].map(async (part) => {
          const lines: boolean[] = [];
          for await (const { success } of limited.client.submit(
            transactions.slice(24 * part, 24 * part + 24),
          ))
            lines.push(success);
          return lines;
        }),
      );
      expect(results.flat()).toEqual(Array(96).fill(true));
      const { faults } = (await limited.devnet.request({ method: "devnet_status" })) as {
        faults: { exchanges: number; struck: Record<string, number> };
      };
      expect(faults.struck).toEqual({});
    } finally {
      await limited.stop();
    }
  });
});
