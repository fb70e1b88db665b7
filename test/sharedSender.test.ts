// Several programs that know nothing of each other send for one account.
import { GasWaiverSigner } from "@gas-waiver/client/ethers";
import { gasWaiverActions } from "@gas-waiver/client/viem";
import { createWalletClient, type Hex, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, it, vi } from "vitest";
import { useDevService } from "./support/devService.js";
import { account, DEV_API_KEY, TOKEN, tokensOf, transferData } from "./support/user.js";

const PROGRAMS = 4;
const TRANSACTIONS = 15;
/** Each program pays somebody else: the same call with the same nonce would be the same bytes, and so one submission. */
const recipientOf = (i: number) => account(20 + i).address as Hex;

const started = useDevService();

describe("four programs with the key of one sender", () => {
  /** A program with nonces of its own. */
  const program = (i: number) => {
    const { url, rpcUrl, chain } = started();
    const call = { to: TOKEN, data: transferData(recipientOf(i), 1n) as Hex } as const;
    const service = { url, apiKey: DEV_API_KEY };
    const signer = new GasWaiverSigner(account(0).connect(chain), service);
    if (i % 2 === 0) return async () => (await signer.sendTransaction(call)).hash;
    const client = createWalletClient({
      account: privateKeyToAccount(account(0).privateKey as Hex),
      transport: http(rpcUrl),
    }).extend(gasWaiverActions(service));
    return () => client.sendGaslessTransaction(call);
  };
  const programs = () => Array.from({ length: PROGRAMS }, (_, i) => program(i));

  it.each<[string, (send: () => Promise<string>) => Promise<string[]>]>([
    ["all at once", (send) => Promise.all(Array.from({ length: TRANSACTIONS }, send))],
    [
      "one after the other",
      async (send) => {
        const hashes: string[] = [];
        while (hashes.length < TRANSACTIONS) hashes.push(await send());
        return hashes;
      },
    ],
  ])("send every transaction, each once, when each program sends %s", async (_, sendAll) => {
    const { chain } = started();
    const all = PROGRAMS * TRANSACTIONS;
    const nonce = await chain.getTransactionCount(account(0).address);
    const tokens = () =>
      Promise.all(Array.from({ length: PROGRAMS }, (_, i) => tokensOf(chain, recipientOf(i))));
    const before = await tokens();
    const hashes = (await Promise.all(programs().map(sendAll))).flat();
    expect(new Set(hashes).size).toBe(all);
    await vi.waitFor(
      async () => expect(await chain.getTransactionCount(account(0).address)).toBe(nonce + all),
      10_000,
    );
    expect(await tokens()).toEqual(before.map((sum) => sum + BigInt(TRANSACTIONS)));
  });
});
