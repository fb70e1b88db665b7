// Every parameter of viem and ethers is honoured or refused; none is dropped. The tables below have an entry for each name that
// the types of the libraries have, so a new version's new parameter does not compile before it is decided on.
import { InvalidArgumentError } from "@gas-waiver/client";
import { GasWaiverSigner } from "@gas-waiver/client/ethers";
import { gasWaiverActions, gasWaiverTransport } from "@gas-waiver/client/viem";
import { BrowserProvider, Transaction, type TransactionRequest, Wallet } from "ethers";
import {
  createWalletClient,
  custom,
  defineChain,
  type Hex,
  parseAbi,
  type SendTransactionParameters,
  type WriteContractParameters,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { account, CHAIN_ID, TOKEN } from "./support/user.js";

const SENDER = account(0);
const DATA = "0x1249c58b";
const HASH = `0x${"11".repeat(32)}`;

/** A node that knows what an adapter reads before it signs. */
async function request({ method }: { method: string }): Promise<unknown> {
  const answers: Record<string, unknown> = {
    eth_chainId: `0x${CHAIN_ID.toString(16)}`,
    eth_getTransactionCount: "0x7",
    eth_estimateGas: "0xea60",
    eth_blockNumber: "0x1",
  };
  if (method in answers) return answers[method];
  throw new Error(`the node does not know ${method}`);
}

/** The decision on a parameter: a value for it, and either how the signed transaction shows it, or that it is refused. */
type Decision = { readonly value: unknown } & (
  | { readonly signed: (transaction: Transaction) => unknown; readonly as: unknown }
  | { readonly refused: true }
  | { readonly unchanged: true }
);

const refused = (value: unknown): Decision => ({ value, refused: true });
/** A bound that every gasless transaction keeps, or a check that it passes: the signed bytes are the same as without it. */
const unchanged = (value: unknown): Decision => ({ value, unchanged: true });

async function expectDecision(
  name: string,
  decision: Decision,
  sign: (parameters: Readonly<Record<string, unknown>>) => Promise<string>,
): Promise<void> {
  const outcome: unknown = await sign({ [name]: decision.value }).catch((error: unknown) => error);
  if ("refused" in decision) {
    expect(outcome).toBeInstanceOf(InvalidArgumentError);
    expect(Object(outcome).message).toContain(name);
  } else if ("signed" in decision) {
    expect(decision.signed(Transaction.from(String(outcome)))).toEqual(decision.as);
    expect(outcome).not.toBe(await sign({}));
  } else expect(unsalted(outcome)).toEqual(unsalted(await sign({})));
}

/** A signed transaction without what the random part of its gas limit changes. */
function unsalted(signed: unknown) {
  const { gasLimit: _gas, sig: _signature, ...rest } = Transaction.from(String(signed)).toJSON();
  return rest;
}

const LIST = [{ address: TOKEN, storageKeys: [] }];
const AUTHORIZATIONS = [{ address: TOKEN, chainId: CHAIN_ID, nonce: 1 }];
const OTHER = account(2).address;

describe("ethers", () => {
  const provider = new BrowserProvider({ request: (call) => request(call) }, CHAIN_ID);
  const signerOf = () =>
    new GasWaiverSigner(new Wallet(SENDER.privateKey, provider), { url: "http://127.0.0.1:1" });

  const DECISIONS: Readonly<Record<keyof TransactionRequest, Decision>> = {
    to: { value: OTHER, signed: ({ to }) => to, as: OTHER },
    from: unchanged(SENDER.address),
    data: { value: "0xd0e30db0", signed: ({ data }) => data, as: "0xd0e30db0" },
    value: { value: 5, signed: ({ value }) => value, as: 5n },
    gasLimit: { value: 50_000, signed: ({ gasLimit }) => gasLimit, as: 50_000n },
    nonce: { value: 9, signed: ({ nonce }) => nonce, as: 9 },
    chainId: unchanged(CHAIN_ID),
    type: refused(4),
    gasPrice: unchanged(7),
    maxFeePerGas: unchanged(7),
    maxPriorityFeePerGas: unchanged(7),
    accessList: refused(LIST),
    authorizationList: refused(AUTHORIZATIONS),
    // `sendTransaction` alone reads it, for its idempotency key.
    customData: refused({ note: "hello" }),
    blockTag: refused("latest"),
    enableCcipRead: refused(true),
    blobVersionedHashes: refused([HASH]),
    maxFeePerBlobGas: refused(1),
    blobs: refused(["0x00"]),
    blobWrapperVersion: refused(1),
    kzg: refused({}),
  };

  it.each(Object.entries(DECISIONS))("has decided on %s", async (name, decision) => {
    const sign = (parameters: object) =>
      signerOf().signGaslessTransaction({ to: TOKEN, data: DATA, ...parameters });
    await expectDecision(name, decision, sign);
  });

  it.each([
    ["from", OTHER, "from"],
    ["chainId", 1, "chain 1"],
    ["type", 2, "type 2"],
    ["customData", { note: "hello" }, "note"],
  ])("refuses another %s, whatever the call", async (name, value, named) => {
    const call = { to: TOKEN, data: DATA, [name]: value };
    const signer = signerOf();
    await expect(signer.sendTransaction(call)).rejects.toThrow(named);
    await expect(signer.prepareGaslessTransaction(call)).rejects.toThrow(
      named === "note" ? "customData" : named,
    );
    await expect(signer.populateTransaction(call)).rejects.toThrow(named === "note" ? "customData" : named);
  });
});

type Names<Parameters> = Parameters extends unknown ? keyof Parameters : never;

describe("viem", () => {
  const chain = (id: number) =>
    defineChain({
      ...{ id, name: "local", nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 } },
      rpcUrls: { default: { http: [] } },
    });
  const clientOf = (chainId: number | undefined = CHAIN_ID) =>
    createWalletClient({
      account: privateKeyToAccount(SENDER.privateKey as Hex),
      transport: custom({ request }),
      chain: chain(chainId),
    }).extend(gasWaiverActions({ url: "http://127.0.0.1:1" }));

  const OVERRIDES: Readonly<
    Record<Exclude<Names<SendTransactionParameters>, "to" | "data"> & string, Decision>
  > = {
    account: {
      value: privateKeyToAccount(account(2).privateKey as Hex),
      signed: ({ from }) => from,
      as: OTHER,
    },
    value: { value: 5n, signed: ({ value }) => value, as: 5n },
    gas: { value: 50_000n, signed: ({ gasLimit }) => gasLimit, as: 50_000n },
    nonce: { value: 9, signed: ({ nonce }) => nonce, as: 9 },
    chain: unchanged(chain(CHAIN_ID)),
    assertChainId: refused(false),
    dataSuffix: { value: "0xbeef", signed: ({ data }) => data, as: `${DATA}beef` },
    type: refused("eip7702"),
    gasPrice: unchanged(7n),
    maxFeePerGas: unchanged(7n),
    maxPriorityFeePerGas: unchanged(7n),
    accessList: refused(LIST),
    authorizationList: refused(AUTHORIZATIONS),
    blobs: refused(["0x00"]),
    blobVersionedHashes: refused([HASH]),
    kzg: refused({}),
    maxFeePerBlobGas: refused(1n),
    sidecars: refused([{}]),
  };
  const CALL: Readonly<Record<"to" | "data", Decision>> = {
    to: { value: OTHER, signed: ({ to }) => to, as: OTHER },
    data: { value: "0xd0e30db0", signed: ({ data }) => data, as: "0xd0e30db0" },
  };
  type ContractNames = "abi" | "address" | "functionName" | "args" | keyof typeof OVERRIDES;
  // A new parameter of contracts' calls does not compile here.
  const allNames: Names<WriteContractParameters> extends ContractNames ? true : false = true;

  it.each(Object.entries({ ...CALL, ...OVERRIDES }))(
    "has decided on %s of a transaction",
    async (name, decision) => {
      const sign = (parameters: object) =>
        clientOf().signGaslessTransaction({ to: TOKEN, data: DATA, ...parameters });
      await expectDecision(name, decision, sign);
    },
  );

  it.each(Object.entries(OVERRIDES))("has decided on %s of a contract's call", async (name, decision) => {
    expect(allNames).toBe(true);
    const call = { address: TOKEN, abi: parseAbi(["function mint()"]), functionName: "mint" } as const;
    await expectDecision(name, decision, (parameters) =>
      clientOf().signGaslessContract({ ...call, ...parameters }),
    );
  });

  it("refuses a chain that is not the client's", async () => {
    const call = { to: TOKEN, data: DATA, chain: chain(1) } as const;
    await expect(clientOf().sendGaslessTransaction(call)).rejects.toThrow("chain 1");
  });

  it.each(["alice.eth", undefined, "0x78cf24370174180738C5B8E352B6D14c83a6c9A9"])(
    "refuses to send to %s",
    async (to) => {
      const sending = clientOf().sendGaslessTransaction({ to: to as Hex, data: DATA });
      await expect(sending).rejects.toBeInstanceOf(InvalidArgumentError);
    },
  );

  it("appends the suffix of the client", async () => {
    const client = createWalletClient({
      ...{ account: privateKeyToAccount(SENDER.privateKey as Hex), dataSuffix: "0xbeef" },
      transport: custom({ request }),
    }).extend(gasWaiverActions({ url: "http://127.0.0.1:1" }));
    const signed = await client.signGaslessTransaction({ to: TOKEN, data: DATA });
    expect(Transaction.from(signed).data).toBe(`${DATA}beef`);
  });

  it("refuses what the transport would drop of a transaction that it signs", async () => {
    const accounts = [privateKeyToAccount(SENDER.privateKey as Hex)];
    const options = { url: "http://127.0.0.1:1", accounts };
    const client = createWalletClient({
      ...{ account: SENDER.address as Hex, chain: chain(CHAIN_ID) },
      transport: gasWaiverTransport(custom({ request }), options),
    });
    const sending = client.sendTransaction({ to: TOKEN, data: DATA, accessList: LIST as never });
    await expect(sending).rejects.toThrow("accessList");
  });
});
