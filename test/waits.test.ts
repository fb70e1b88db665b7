// A user's own paid transaction takes the nonce of one that was sent: the transaction will have no receipt, and waits for it end.
import { createWaiverClient } from "@gas-waiver/client";
import { GasWaiverSigner } from "@gas-waiver/client/ethers";
import { gasWaiverActions, gasWaiverTransport } from "@gas-waiver/client/viem";
import { accountsOf } from "@gas-waiver/devnet";
import { Contract, Wallet } from "ethers";
import { createWalletClient, type Hex, http, publicActions } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { type DevService, useDevService } from "./support/devService.js";
import { CHAIN_ID, DEV_API_KEY, TOKEN, token } from "./support/user.js";

/** A service that has seen a sender lose three nonces lets the work of that sender rest for half a minute. */
const services = { ofEthers: useDevService(), ofViem: useDevService(), ofOneLoss: useDevService() };
const [funded] = accountsOf("funded");
const DATA = token.encodeFunctionData("approve", [TOKEN, 1n]) as Hex;
const CALL = { to: TOKEN, data: DATA } as const;

let started: () => DevService;
let service: { readonly url: string; readonly apiKey: string };
let wallet: Wallet;

/** Has the tests of a block send by one of the services. */
function sendBy(of: keyof typeof services): void {
  beforeAll(() => {
    started = services[of];
    const { url, chain } = started();
    service = { url, apiKey: DEV_API_KEY };
    if (funded === undefined) throw new Error("the devnet has no funded account");
    wallet = new Wallet(funded.privateKey, chain);
  });
}

/** Sends without gas, and lets the user's own transaction take the nonce before a block has the sent one. */
async function loseNonce<T>(send: () => Promise<T>): Promise<T> {
  const { chain } = started();
  await chain.send("devnet_stopMining", []);
  const nonce = await wallet.getNonce();
  const sent = await send();
  await chain.send("devnet_evictPool", []);
  const paid = {
    to: wallet.address,
    nonce,
    type: 0,
    gasPrice: 10n ** 10n,
    gasLimit: 21_000n,
    chainId: CHAIN_ID,
  };
  await chain.broadcastTransaction(await wallet.signTransaction(paid));
  await chain.send("devnet_resumeMining", []);
  return sent;
}

const walletClient = (transport = http(started().rpcUrl)) =>
  createWalletClient({
    account: privateKeyToAccount(wallet.privateKey as Hex),
    transport,
    pollingInterval: 50,
  })
    .extend(publicActions)
    .extend(gasWaiverActions(service));

const FAILURE = { name: "SubmissionFailedError", reason: "NONCE_TOO_LOW" };

describe("a wait with ethers for a transaction whose nonce another one has used", () => {
  sendBy("ofEthers");

  it("ends with the service's record, by the response and by the signer", async () => {
    const signer = new GasWaiverSigner(wallet, service);
    const sent = await loseNonce(() => signer.sendTransaction(CALL));
    await expect(sent.wait()).rejects.toMatchObject(FAILURE);
    await expect(signer.waitForTransaction(sent.hash)).rejects.toMatchObject(FAILURE);
  });

  it("ends with the service's record by the response of a contract", async () => {
    const signer = new GasWaiverSigner(wallet, service);
    const contract = new Contract(TOKEN, ["function approve(address spender, uint256 amount)"], signer);
    const approve = () => contract.getFunction("approve").send(TOKEN, 1n);
    const sent = await loseNonce(approve);
    await expect(sent.wait()).rejects.toMatchObject(FAILURE);
    await expect(sent.wait(1, 60_000)).rejects.toMatchObject(FAILURE);
    expect(await (await approve()).wait()).toMatchObject({ status: 1 });
    await vi.waitFor(async () => expect(await signer.provider?.listenerCount()).toBe(0));
  });
});

describe("a wait with viem for a transaction whose nonce another one has used", () => {
  sendBy("ofViem");

  it("ends with the service's record in the actions", async () => {
    const client = walletClient();
    const hash = await loseNonce(() => client.sendGaslessTransaction(CALL));
    await expect(client.waitForGaslessReceipt({ hash })).rejects.toMatchObject(FAILURE);
  });

  it("ends with the service's record in viem's own wait over the transport", async () => {
    const client = walletClient(gasWaiverTransport(http(started().rpcUrl), service));
    const hash = await loseNonce(() => client.sendTransaction({ ...CALL, chain: null }));
    await expect(client.waitForTransactionReceipt({ hash, retryCount: 1 })).rejects.toThrow("already used");
  });
});

describe("viem's own wait over the transport, which knows the transaction before another one uses its nonce,", () => {
  sendBy("ofOneLoss");

  it("ends with the service's record, and not with the other one's receipt", async () => {
    let tell: () => void = () => undefined;
    const hasRead = new Promise<void>((resolve) => {
      tell = resolve;
    });
    const node: typeof http =
      (...parameters) =>
      (config) => {
        const inner = http(...parameters)(config);
        const request = async (call: { method: string }) => {
          const answer = await inner.request(call as never);
          if (call.method === "eth_getTransactionByHash" && answer !== null) tell();
          return answer;
        };
        return { ...inner, request: request as typeof inner.request };
      };
    const client = walletClient(gasWaiverTransport(node(started().rpcUrl), service));
    const { waiting } = await loseNonce(async () => {
      const hash = await client.sendTransaction({ ...CALL, chain: null });
      const waiting = client.waitForTransactionReceipt({ hash }).catch((error: unknown) => String(error));
      await hasRead;
      return { waiting };
    });
    expect(await waiting).toContain("already used");
    expect(await waiting).toContain("has failed");
  });
});

describe("a wait for a receipt that has not come", () => {
  sendBy("ofOneLoss");

  it("ends after the time of the caller's, and can be repeated", async () => {
    const { chain } = started();
    const [signer, client] = [new GasWaiverSigner(wallet, service), walletClient()];
    await chain.send("devnet_stopMining", []);
    const sent = await signer.sendTransaction(CALL);
    const hash = sent.hash as Hex;
    const tooLate = { code: "TIMEOUT" };
    await expect(sent.wait(1, 100)).rejects.toMatchObject(tooLate);
    await expect(signer.waitForTransaction(hash, 1, 100)).rejects.toMatchObject(tooLate);
    await expect(client.waitForGaslessReceipt({ hash, timeout: 100 })).rejects.toThrow(hash);
    await chain.send("devnet_resumeMining", []);
    expect(await sent.wait()).toMatchObject({ status: 1, gasPrice: 0n });
    expect(await signer.waitForTransaction(hash)).toMatchObject({ hash });
    expect(await client.waitForGaslessReceipt({ hash })).toMatchObject({ status: "success" });
  });

  it("is refused for what is no hash, such as the id of a submission", async () => {
    const invalid = { name: "InvalidArgumentError" };
    const id = "01890000-0000-7000-8000-000000000000";
    const signer = new GasWaiverSigner(wallet, service);
    await expect(signer.waitForTransaction(id)).rejects.toMatchObject(invalid);
    await expect(walletClient().waitForGaslessReceipt({ hash: "0x12" })).rejects.toMatchObject(invalid);
  });

  it("leaves it to the receipt where the record cannot be read", async () => {
    const stranger = { ...service, apiKey: "gw_dev_nobody" };
    const sent = await new GasWaiverSigner(wallet, service).sendTransaction(CALL);
    const elsewhere = new GasWaiverSigner(wallet, stranger);
    expect(await elsewhere.waitForTransaction(sent.hash)).toMatchObject({ status: 1 });
    expect(await createWaiverClient(service).wait(sent.hash)).toMatchObject({ state: "included" });
  });
});
