import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import { Contract, HDNodeWallet, type Log, WebSocketProvider } from "ethers";
import { createPublicClient, createTestClient, defineChain, parseAbi, publicActions, webSocket } from "viem";
import { beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { addressOf, hashOf, signInner, wrap } from "../../test/support/testNode.js";
import { useListeningDevnet } from "../../test/support/useTestNode.js";
import { DEVNET_MNEMONIC, devnetAccount } from "../presets/accounts.js";
import { TEST_TOKEN_ADDRESS } from "../presets/constants.js";

const ABI = ["event Transfer(address indexed from, address indexed to, uint256 value)"] as const;

describe("over a WebSocket", () => {
  const node = useListeningDevnet();
  let url: string;
  beforeEach(() => {
    url = node.url.replace("http", "ws");
  });

  it("ethers 6 receives blocks, logs and waiting transactions, and sends", async () => {
    // Node 20 has no WebSocket of its own.
    const provider = new WebSocketProvider(() => new WebSocket(url));
    try {
      const token = new Contract(TEST_TOKEN_ADDRESS, ABI, provider);
      const received = {
        block: new Promise<number>((resolve) => void provider.on("block", resolve)),
        log: new Promise<Log>((resolve) => void provider.on({ address: TEST_TOKEN_ADDRESS }, resolve)),
        transfer: new Promise<unknown[]>((resolve) => void token.on("Transfer", (...args) => resolve(args))),
        pending: new Promise<string>((resolve) => void provider.on("pending", resolve)),
      };
      // Responses keep their order, so the subscriptions exist after this one.
      await provider.getBlockNumber();
      const inner = signInner(0);
      const wrapper = await provider.broadcastTransaction(wrap(inner));
      expect(await received.pending).toBe(hashOf(wrap(inner)));
      expect(await received.block).toBe(1);
      expect((await received.log).transactionHash).toBe(hashOf(bytesToHex(inner.raw)));
      expect((await received.transfer)[2]).toBe(10n ** 18n);
      expect((await wrapper.wait())?.status).toBe(1);

      const wallet = HDNodeWallet.fromPhrase(DEVNET_MNEMONIC, undefined, "m/44'/60'/0'/0/13").connect(
        provider,
      );
      const sent = await wallet.sendTransaction({ to: addressOf(0), value: 7n });
      expect((await sent.wait())?.status).toBe(1);
      expect(await provider.getBalance(addressOf(0))).toBe(7n);
    } finally {
      await provider.destroy();
    }
  });

  it("viem watches blocks, events and waiting transactions", async () => {
    const transport = webSocket(url, { reconnect: false });
    const client = createPublicClient({ chain: chainAt(url), transport });
    const abi = parseAbi(ABI);
    const stops: (() => void)[] = [];
    const received = {
      block: new Promise<bigint>((resolve) =>
        stops.push(client.watchBlockNumber({ onBlockNumber: resolve, emitOnBegin: false })),
      ),
      event: new Promise<Hex>((resolve) =>
        stops.push(
          client.watchContractEvent({
            address: TEST_TOKEN_ADDRESS,
            abi,
            eventName: "Transfer",
            args: { from: devnetAccount(0).address },
            onLogs: ([log]) => resolve(log?.transactionHash ?? "0x"),
          }),
        ),
      ),
      pending: new Promise<readonly Hex[]>((resolve) =>
        stops.push(client.watchPendingTransactions({ onTransactions: resolve })),
      ),
    };
    // viem subscribes in the background. Wait until the devnet has answered all three subscriptions.
    for (let subscribed = 0; subscribed < 3; ) {
      await client.getChainId();
      subscribed = (await client.transport.getRpcClient()).subscriptions.size;
    }
    const inner = signInner(0);
    await client.sendRawTransaction({ serializedTransaction: wrap(inner) });
    expect(await received.block).toBe(1n);
    expect(await received.event).toBe(hashOf(bytesToHex(inner.raw)));
    expect((await received.pending)[0]).toBe(hashOf(wrap(inner)));
    for (const stop of stops) stop();
    (await client.transport.getRpcClient()).close();
  });

  it("viem's test client for anvil controls mining, time, state and accounts", async () => {
    const transport = webSocket(url, { reconnect: false });
    const client = createTestClient({ mode: "anvil", chain: chainAt(url), transport }).extend(publicActions);
    const whale: Hex = `0x${"3e".repeat(20)}`;
    const snapshot = await client.snapshot();
    await client.setBalance({ address: whale, value: 10n ** 18n });
    await client.setNonce({ address: whale, nonce: 3 });
    await client.impersonateAccount({ address: whale });
    const hash = await client.request({
      method: "eth_sendTransaction" as never,
      params: [{ from: whale, to: addressOf(0), value: "0x5" }] as never,
    });
    expect((await client.waitForTransactionReceipt({ hash: hash as Hex })).status).toBe("success");
    expect(await client.getTransactionCount({ address: whale })).toBe(4);
    await client.stopImpersonatingAccount({ address: whale });
    await client.setAutomine(false);
    expect(await client.getAutomine()).toBe(false);
    await client.mine({ blocks: 2, interval: 12 });
    await client.increaseTime({ seconds: 60 });
    await client.setCode({ address: whale, bytecode: "0x00" });
    await client.setStorageAt({ address: whale, index: 1, value: `0x${"1".padStart(64, "0")}` });
    expect(await client.getCode({ address: whale })).toBe("0x00");
    const { timestamp } = await client.getBlock();
    await client.setNextBlockTimestamp({ timestamp: timestamp + 500n });
    await client.mine({ blocks: 1 });
    expect((await client.getBlock()).timestamp).toBe(timestamp + 500n);
    expect(await client.getTxpoolStatus()).toEqual({ pending: 0, queued: 0 });
    await client.revert({ id: snapshot });
    expect(await client.getBlockNumber({ cacheTime: 0 })).toBe(0n);
    (await client.transport.getRpcClient()).close();
  });
});

function chainAt(url: string) {
  return defineChain({
    id: 2201,
    name: "devnet",
    nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [url] } },
  });
}
