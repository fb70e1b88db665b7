// A service that follows the registry of a real chain, with two waivers whose policies differ.
import { id, Transaction, type TransactionLike, Wallet } from "ethers";
import { describe, expect, it } from "vitest";
import { type RegistryService, registryService } from "./support/registryService.js";
import { account, CHAIN_ID, TOKEN, transferOf } from "./support/user.js";

const [FIRST, SECOND] = [account(10).address, account(11).address];
const [TRANSFER, APPROVE] = ["0xa9059cbb", "0x095ea7b3"];
const RECIPIENT = account(9).address;
const TRANSFERS = { address: TOKEN, selectors: [TRANSFER] };
const APPROVALS = { address: TOKEN, selectors: [APPROVE] };

const started = registryService([10, 11], { nonceGapTimeoutMs: 60_000 });

const sign = (user: number, tx: TransactionLike) => account(user).signTransaction(tx);
const transfer = (user: number, nonce = 0) => sign(user, transferOf(RECIPIENT, 1n, nonce));
const approval = (user: number, nonce = 0) =>
  sign(user, {
    ...transferOf(RECIPIENT, 1n, nonce),
    data: `${APPROVE}${transferOf(RECIPIENT, 1n, 0).data?.slice(10)}`,
  });

async function outcomes(service: RegistryService, ...transactions: Promise<string>[]) {
  const signed = await Promise.all(transactions);
  const lines: (string | undefined)[] = [];
  for await (const line of service.client.submit(signed, { wait: "included" })) {
    lines[line.index] = line.success ? "included" : line.error.reason;
  }
  return lines;
}

/** The waiver that carried a transaction. The wrapper stands directly before it in its block (D10). */
async function waiverOf(service: RegistryService, raw: string): Promise<string> {
  const { hash } = Transaction.from(raw);
  const { blockHash } = await service.rpc<{ blockHash: string }>("eth_getTransactionReceipt", hash);
  const block = await service.rpc<{ transactions: { hash: string; from: string }[] }>(
    "eth_getBlockByHash",
    blockHash,
    true,
  );
  const place = block.transactions.findIndex((one) => one.hash === hash);
  return block.transactions[place - 1]?.from ?? "nobody";
}

const selectorsOf = (targets: readonly { selectors?: readonly string[] }[]) =>
  targets.flatMap(({ selectors }) => selectors ?? []).join();

describe("a service that follows the governance of its chain", () => {
  it("reports the policy of genesis through the SDK", async () => {
    const policy = await started().until(({ waivers }) => waivers.every(({ usable }) => usable));
    const token = { address: TOKEN.toLowerCase(), selectors: ["0x095ea7b3", "0x23b872dd", "0xa9059cbb"] };
    const waivers = [FIRST, SECOND].map((address) => address.toLowerCase()).sort();
    expect(policy).toMatchObject({ chainId: CHAIN_ID, allowedTargets: [token] });
    expect(policy.waivers).toEqual(
      waivers.map((address) => ({ address, usable: true, allowedTargets: [token] })),
    );
  });

  it("refuses calls that a narrower policy excludes, as soon as it is in a block, and sends nothing", async () => {
    const service = started();
    await service.update(SECOND, [APPROVALS]);
    await service.update(FIRST, [APPROVALS]);
    const block = await service.rpc("eth_blockNumber");
    await service.until(({ allowedTargets }) => selectorsOf(allowedTargets) === APPROVE);
    expect(await outcomes(service, transfer(0))).toEqual(["SELECTOR_NOT_ALLOWED"]);
    expect(await service.rpc("eth_blockNumber")).toBe(block);
    expect(await outcomes(service, approval(0))).toEqual(["included"]);
  });

  it("gives each transaction to a waiver that permits it", async () => {
    const service = started();
    await service.update(SECOND, [TRANSFERS]);
    await service.until(({ allowedTargets }) => selectorsOf(allowedTargets) === `${APPROVE},${TRANSFER}`);
    const signed = await Promise.all([transfer(1), approval(2), transfer(3), approval(4)]);
    expect(await outcomes(service, ...signed.map(async (raw) => raw))).toEqual(Array(4).fill("included"));
    const carriers = await Promise.all(signed.map((raw) => waiverOf(service, raw)));
    expect(carriers).toEqual([SECOND, FIRST, SECOND, FIRST].map((waiver) => waiver.toLowerCase()));
  });

  it("carries one sender's transactions by two waivers, in the order of their nonces", async () => {
    const service = started();
    const signed = await Promise.all([approval(5, 0), transfer(5, 1), approval(5, 2), transfer(5, 3)]);
    expect(await outcomes(service, ...signed.map(async (raw) => raw))).toEqual(Array(4).fill("included"));
    const carriers = await Promise.all(signed.map((raw) => waiverOf(service, raw)));
    expect(carriers).toEqual([FIRST, SECOND, FIRST, SECOND].map((waiver) => waiver.toLowerCase()));
  });

  it("carries mixed transactions of many senders in many requests, each once and by a waiver that permits it", async () => {
    const service = started();
    const wallets = ["a", "b", "c", "d"].map((name) => new Wallet(id(name)));
    const signed = await Promise.all(
      wallets.flatMap((wallet, i) =>
        Array.from({ length: 8 }, (_, nonce) => {
          const kind = (i + nonce * nonce) % 3 === 0 ? APPROVE : TRANSFER;
          const tx = transferOf(RECIPIENT, 0n, nonce);
          return wallet.signTransaction({ ...tx, data: `${kind}${tx.data?.slice(10)}` });
        }),
      ),
    );
    // Each request has every fourth transaction, so that no request has two consecutive nonces.
    const requests = [3, 1, 0, 2].map((k) => signed.filter((_, i) => i % 4 === k).reverse());
    const answers = await Promise.all(
      requests.map((raws) => outcomes(service, ...raws.map(async (raw) => raw))),
    );
    expect(answers.flat()).toEqual(Array(signed.length).fill("included"));
    for (const raw of signed) {
      const permitted = Transaction.from(raw).data.startsWith(APPROVE) ? FIRST : SECOND;
      expect(await waiverOf(service, raw)).toBe(permitted.toLowerCase());
    }
  });

  it("reports a revoked waiver, refuses calls that only it could carry, and accepts them once it is registered again", async () => {
    const service = started();
    await service.revoke(SECOND);
    const address = SECOND.toLowerCase();
    const message = `${address} is not a registered waiver`;
    const { waivers } = await service.until(({ allowedTargets }) => selectorsOf(allowedTargets) === APPROVE);
    expect(waivers).toContainEqual({ address, usable: false, message, allowedTargets: [] });
    expect(await outcomes(service, transfer(6), approval(6))).toEqual(["SELECTOR_NOT_ALLOWED", "included"]);
    expect((await service.client.ready()).parts.waivers).toEqual({ ok: true, usable: 1, message });

    await service.register(SECOND, [TRANSFERS]);
    await service.until(({ waivers: all }) => all.every(({ usable }) => usable));
    expect(await outcomes(service, transfer(7))).toEqual(["included"]);
  });

  it("refuses everything with WAIVER_NOT_REGISTERED when no waiver is left", async () => {
    const service = started();
    await service.revoke(SECOND);
    await service.revoke(FIRST);
    await service.until(({ allowedTargets }) => allowedTargets.length === 0);
    expect(await outcomes(service, approval(8))).toEqual(["WAIVER_NOT_REGISTERED"]);
    const [line] = await service.client.check([await approval(8)]);
    expect(line).toMatchObject({ success: false, error: { reason: "WAIVER_NOT_REGISTERED" } });
  });
});
