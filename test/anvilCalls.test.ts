import { createDevnet, type Devnet, devnetAccount } from "@gas-waiver/devnet";
import { bytesToHex, type Hex, hexToBytes, signTransaction } from "@gas-waiver/protocol";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type Anvil, startAnvil } from "../bench/devnet/anvil.mjs";

// What explorers and wallets read of calls, beside what anvil says of the same: traces, overrides, access lists.

type Call = (method: string, ...params: unknown[]) => Promise<unknown>;

const PAYER = devnetAccount(13);
const CODES = {
  recorder: "0x335f55326001553460025500",
  destroyer: "0x33ff",
  creator: "0x6360015ff35f526004601c5ff0805f555f5fa100",
  reverter: "0x63deadbeef5f526004601cfd",
  burner: "0x5b5f56",
  forwarder: "0x5f5f5f5f345f355af15f5260205ff3",
  asker: "0x5f5f5f5f5f355afa505f5f5f5f5f355af45000",
  logger: "0x5f355f525f3560205fa100",
} as const satisfies Record<string, Hex>;
const NAMES = Object.keys(CODES) as (keyof typeof CODES)[];
const at = (name: keyof typeof CODES): Hex =>
  `0x${(0xc0de_0000 + NAMES.indexOf(name)).toString(16).padStart(40, "0")}`;
const word = (value: Hex) => hexToBytes(`0x${BigInt(value).toString(16).padStart(64, "0")}`);

let anvil: Anvil;
let devnet: Devnet;
let nodes: Call[];
beforeEach(async () => {
  anvil = await startAnvil();
  devnet = await createDevnet({ blockTimeMs: 0, automine: false });
  const { url } = await devnet.listen({ port: 0 });
  nodes = [callOf(url), callOf(anvil.url)];
  for (const call of nodes) {
    await call("anvil_setBalance", PAYER.address, "0x3635c9adc5dea00000");
    for (const name of NAMES) await call("anvil_setCode", at(name), CODES[name]);
  }
});
afterEach(async () => {
  await devnet.close();
  await anvil.close();
});

function callOf(url: string): Call {
  return async (method, ...params) => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    const { result, error } = (await response.json()) as { result?: unknown; error?: { message: string } };
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  };
}

/** The same question to both. */
async function both(
  method: string,
  ...params: unknown[]
): Promise<readonly [ours: unknown, theirs: unknown]> {
  const [ours, theirs] = await Promise.all(nodes.map((call) => call(method, ...params)));
  return [ours, theirs];
}

const CALLS: readonly (readonly [
  name: keyof typeof CODES,
  argument?: keyof typeof CODES | undefined,
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

/** The asker's first call of the recorder fails, and whether its slot counts as touched is a matter of taste. */
function succeeds([name, argument]: (typeof CALLS)[number]): boolean {
  return name !== "reverter" && name !== "burner" && !(name === "asker" && argument === "recorder");
}

interface Frame {
  readonly type: string;
  readonly error?: string;
  readonly calls?: readonly Frame[];
  readonly [member: string]: unknown;
}

/** What both have to agree on: everything but the words for what went wrong. */
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

it("traces by the callTracer tell the same of the same transactions", async () => {
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
        data: argument === undefined ? new Uint8Array(0) : word(at(argument)),
      },
      hexToBytes(PAYER.privateKey),
    );
    const [hash] = await both("eth_sendRawTransaction", bytesToHex(raw));
    hashes.push(hash as Hex);
    // Each in a block of its own: what anvil says the outermost call used is what its block has used so far.
    await both("evm_mine");
  }
  for (const [i, hash] of hashes.entries()) {
    const [ours, theirs] = await both("debug_traceTransaction", hash, {
      tracer: "callTracer",
      tracerConfig: { withLog: true },
    });
    // As in geth, the outermost gas is the transaction's limit; anvil leaves out the intrinsic gas.
    const gas = (ours as Frame).gas;
    expect(comparable(ours as Frame), CALLS[i]?.join(" ")).toEqual(comparable({ ...(theirs as Frame), gas }));
  }
});

it("calls with overrides, and access lists, give the same", async () => {
  const from = PAYER.address;
  const somewhere: Hex = `0x${"77".repeat(20)}`;
  const key = bytesToHex(word("0x0"));
  const overrides = {
    [somewhere]: {
      code: "0x475f525f5460205260405ff3",
      balance: "0x9",
      stateDiff: { [key]: bytesToHex(word("0x5")) },
    },
  };
  const [ours, theirs] = await both("eth_call", { from, to: somewhere }, "latest", overrides);
  expect(ours).toBe(theirs);
  for (const [name, argument] of CALLS.filter(succeeds)) {
    const request = {
      from,
      to: at(name),
      data: argument === undefined ? "0x" : bytesToHex(word(at(argument))),
    };
    const lists = await both("eth_createAccessList", request, "latest");
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
