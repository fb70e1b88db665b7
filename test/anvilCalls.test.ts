import { createDevnet, type Devnet, devnetAccount } from "@gas-waiver/devnet";
import { bytesToHex, type Hex, hexToBytes, signTransaction } from "@gas-waiver/protocol";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type Anvil, startAnvil } from "../bench/devnet/anvil.mjs";
import { BYTECODE, wordOf } from "../packages/devnet/test/support/bytecode.js";
import { type RpcCall, rpcOf } from "./support/jsonRpc.js";

// Compares traces, state overrides and access lists of the devnet with anvil's.

const PAYER = devnetAccount(13);
const NAMES = Object.keys(BYTECODE) as (keyof typeof BYTECODE)[];
const at = (name: keyof typeof BYTECODE): Hex =>
  `0x${(0xc0de_0000 + NAMES.indexOf(name)).toString(16).padStart(40, "0")}`;

let anvil: Anvil;
let devnet: Devnet;
let nodes: RpcCall[];
beforeEach(async () => {
  anvil = await startAnvil();
  devnet = await createDevnet({ blockTimeMs: 0, automine: false });
  const { url } = await devnet.listen({ port: 0 });
  nodes = [rpcOf(url), rpcOf(anvil.url)];
  for (const call of nodes) {
    await call("anvil_setBalance", PAYER.address, "0x3635c9adc5dea00000");
    for (const name of NAMES) await call("anvil_setCode", at(name), BYTECODE[name]);
  }
});
afterEach(async () => {
  await devnet.close();
  await anvil.close();
});

/** Calls the method of both nodes. */
async function callBoth(
  method: string,
  ...params: unknown[]
): Promise<readonly [devnetResult: unknown, anvilResult: unknown]> {
  const [devnetResult, anvilResult] = await Promise.all(nodes.map((call) => call(method, ...params)));
  return [devnetResult, anvilResult];
}

const CALLS: readonly (readonly [
  name: keyof typeof BYTECODE,
  argument?: keyof typeof BYTECODE | undefined,
  value?: bigint,
])[] = [
  ["recorder", undefined, 7n],
  ["forwarder", "recorder", 5n],
  ["forwarder", "reverter", 3n],
  ["forwarder", "destroyer", 2n],
  ["forwarder", "creator"],
  ["forwarder", "logger"],
  ["asker", "logger"],
  ["asker", "recorder"],
  ["creator"],
  ["logger", "logger"],
  ["reverter"],
  ["burner"],
];

/** Calls that succeed. Omits the asker's call of the recorder, where the nodes disagree about a touched slot. */
function succeeds([name, argument]: (typeof CALLS)[number]): boolean {
  return name !== "reverter" && name !== "burner" && !(name === "asker" && argument === "recorder");
}

interface Frame {
  readonly type: string;
  readonly error?: string;
  readonly calls?: readonly Frame[];
  readonly [member: string]: unknown;
}

/** A frame without the texts of its errors, which may differ. */
function comparable({ error, calls, revertReason: _reason, logs, ...frame }: Frame): object {
  return {
    ...frame,
    failed: error !== undefined,
    calls: calls?.map(comparable) ?? [],
    logs: (logs as { topics: Hex[]; data: Hex; address: Hex }[] | undefined)?.map(
      ({ topics, data, address }) => ({ topics, data, address }),
    ),
  };
}

it("agrees with anvil on the callTracer's traces", async () => {
  const hashes: Hex[] = [];
  for (const [i, [name, argument, value = 0n]] of CALLS.entries()) {
    const { raw } = signTransaction(
      {
        type: "legacy",
        chainId: 2201n,
        nonce: BigInt(i),
        gasPrice: 10n ** 9n,
        gasLimit: 200_000n,
        to: hexToBytes(at(name)),
        value,
        data: argument === undefined ? new Uint8Array(0) : wordOf(at(argument)),
      },
      hexToBytes(PAYER.privateKey),
    );
    const [hash] = await callBoth("eth_sendRawTransaction", bytesToHex(raw));
    hashes.push(hash as Hex);
    // One transaction a block: anvil reports the gas of the outermost call as the sum of its block so far.
    await callBoth("evm_mine");
  }
  for (const [i, hash] of hashes.entries()) {
    const [devnetResult, anvilResult] = await callBoth("debug_traceTransaction", hash, {
      tracer: "callTracer",
      tracerConfig: { withLog: true },
    });
    // The outermost gas is the transaction's limit, as in geth; anvil subtracts the intrinsic gas.
    const gas = (devnetResult as Frame).gas;
    expect(comparable(devnetResult as Frame), CALLS[i]?.join(" ")).toEqual(
      comparable({ ...(anvilResult as Frame), gas }),
    );
  }
});

it("agrees with anvil on calls with overrides and on access lists", async () => {
  const from = PAYER.address;
  const somewhere: Hex = `0x${"77".repeat(20)}`;
  const key = bytesToHex(wordOf("0x0"));
  const overrides = {
    [somewhere]: {
      code: "0x475f525f5460205260405ff3",
      balance: "0x9",
      stateDiff: { [key]: bytesToHex(wordOf("0x5")) },
    },
  };
  const [devnetResult, anvilResult] = await callBoth(
    "eth_call",
    { from, to: somewhere },
    "latest",
    overrides,
  );
  expect(devnetResult).toBe(anvilResult);
  for (const [name, argument] of CALLS.filter(succeeds)) {
    const request = {
      from,
      to: at(name),
      data: argument === undefined ? "0x" : bytesToHex(wordOf(at(argument))),
    };
    const lists = await callBoth("eth_createAccessList", request, "latest");
    const [own, other] = lists.map(
      (list) => (list as { accessList: { address: Hex; storageKeys: Hex[] }[] }).accessList,
    );
    const sorted = (list: typeof own) =>
      list
        ?.map(({ address, storageKeys }) => ({ address, storageKeys: [...storageKeys].sort() }))
        .sort((a, b) => (a.address < b.address ? -1 : 1));
    expect(sorted(own), `${name} ${argument}`).toEqual(sorted(other));
  }
});
