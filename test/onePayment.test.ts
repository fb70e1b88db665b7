// Whatever becomes of requests and answers, an application that goes on with what each error gives it pays once.
import { createWaiverClient, WaiverClientError } from "@gas-waiver/client";
import { GasWaiverSigner } from "@gas-waiver/client/ethers";
import { gasWaiverActions, gasWaiverTransport } from "@gas-waiver/client/viem";
import { type JsonRpcProvider, keccak256, toBeHex } from "ethers";
import { BaseError, createWalletClient, defineChain, type Hex, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { useDevService } from "./support/devService.js";
import { SeededRandom } from "./support/seededRandom.js";
import { MISFORTUNES, type Misfortune, UnreliableProxy } from "./support/unreliableProxy.js";
import { account, CHAIN_ID, DEV_API_KEY, TOKEN, tokensOf, transferData, transferOf } from "./support/user.js";

/** The payments of each way to send; more with a variable of the environment. */
const PAYMENTS = Number(process.env.GAS_WAIVER_PAYMENTS ?? 8);
/** The time by which a late request or answer is late, in ms: longer than a request of the adapters waits. */
const LATE_MS = 250;
const OPTIONS = {
  apiKey: DEV_API_KEY,
  timeoutMs: 300,
  retry: { attempts: 1, minDelayMs: 1, maxDelayMs: 20 },
};

/** One way to send, as an application uses it. */
interface Way {
  /** Pays one token, in a transaction of its own. */
  pay(recipient: Hex): Promise<unknown>;
  /** Goes on with the bytes that an error gave. */
  goOn(signed: Hex): Promise<unknown>;
}

const started = useDevService();
let chain: JsonRpcProvider;
let rpcUrl: string;
let proxy: UnreliableProxy;
let draw: () => Misfortune | undefined = () => undefined;
beforeAll(async () => {
  ({ rpcUrl, chain } = started());
  proxy = await UnreliableProxy.inFrontOf(started().url, LATE_MS, () => draw());
});
afterAll(() => proxy.close());

const callTo = (recipient: Hex) => ({ to: TOKEN, data: transferData(recipient, 1n) as Hex }) as const;

function walletOf(i: number, transport = http(rpcUrl)) {
  const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };
  const rpcUrls = { default: { http: [rpcUrl] } };
  return createWalletClient({
    account: privateKeyToAccount(account(i).privateKey as Hex),
    chain: defineChain({ id: CHAIN_ID, name: "local", nativeCurrency, rpcUrls }),
    transport,
  });
}

const WAYS: Readonly<Record<string, (i: number) => Way>> = {
  GasWaiverSigner: (i) => {
    const signer = new GasWaiverSigner(account(i).connect(chain), { ...OPTIONS, url: proxy.url });
    return {
      pay: (recipient) => signer.sendTransaction(callTo(recipient)),
      goOn: (signed) => signer.sendSignedTransaction(signed),
    };
  },
  gasWaiverActions: (i) => {
    const client = walletOf(i).extend(gasWaiverActions({ ...OPTIONS, url: proxy.url }));
    return {
      pay: (recipient) => client.sendGaslessTransaction(callTo(recipient)),
      goOn: (serializedTransaction) => client.sendRawGaslessTransaction({ serializedTransaction }),
    };
  },
  gasWaiverTransport: (i) => {
    const client = walletOf(i, gasWaiverTransport(http(rpcUrl), { ...OPTIONS, url: proxy.url }));
    return {
      pay: (recipient) => client.sendTransaction(callTo(recipient)),
      goOn: (serializedTransaction) => client.sendRawTransaction({ serializedTransaction }),
    };
  },
  "the bare client": (i) => {
    const client = createWaiverClient({ url: proxy.url, apiKey: DEV_API_KEY });
    const submit = async (signed: string) => {
      for await (const line of client.submit([signed])) expect(line).toMatchObject({ success: true });
    };
    return {
      async pay(recipient) {
        const nonce = await chain.getTransactionCount(account(i).address, "pending");
        await submit(await account(i).signTransaction(transferOf(recipient, 1n, nonce)));
      },
      goOn: submit,
    };
  },
};

/** The error of the SDK, which viem wraps in its own. */
function errorOfService(thrown: unknown): WaiverClientError {
  const error = thrown instanceof BaseError ? thrown.walk((one) => one instanceof WaiverClientError) : thrown;
  if (error instanceof WaiverClientError) return error;
  throw thrown;
}

/** Calls again on each error, with the bytes that it gives if it gives any. */
async function insist({ pay, goOn }: Way, recipient: Hex): Promise<void> {
  let bytes: Hex | undefined;
  for (;;) {
    try {
      await (bytes === undefined ? pay(recipient) : goOn(bytes));
      return;
    } catch (thrown) {
      const [open] = errorOfService(thrown).inDoubt;
      if (open?.txHash !== undefined) expect(open.txHash).toBe(keccak256(open.signed));
      bytes = open?.signed as Hex | undefined;
    }
  }
}

describe("with lost, late and doubled requests and answers", () => {
  it.each(Object.keys(WAYS).map((name, i) => [name, i] as const))("%s pays once", async (name, i) => {
    const way = WAYS[name]?.(i);
    if (way === undefined) throw new Error("there is no such way");
    for (let seed = 0; seed < PAYMENTS; seed++) {
      const random = new SeededRandom(name, seed);
      draw = () => (random.chance(0.65) ? random.pick(MISFORTUNES) : undefined);
      const recipient = toBeHex(BigInt(0x1000_0000 + i * 1_000_000 + seed), 20) as Hex;
      await insist(way, recipient);
      await proxy.settled();
      const paid = async () => [
        await chain.getTransactionCount(account(i).address),
        await tokensOf(chain, recipient),
      ];
      await vi.waitFor(async () => expect(await paid(), `seed ${seed}`).toEqual([seed + 1, 1n]), 10_000);
    }
  });
});
