// The effects of wrappers that keep every rule (D9, D10).
import { AbiCoder, getCreateAddress, id, toBeHex, zeroPadValue } from "ethers";
import {
  type Changes,
  included,
  innerTx,
  type Log,
  type Situation,
  transferData,
  VERIFICATION_GAS,
  type VectorCase,
  wrapperTx,
} from "../case.js";
import {
  accounts,
  OTHER_USER,
  OTHER_WAIVER,
  type Registry,
  registry,
  type SmallContract,
  smallContracts,
  TOKEN,
  UNREGISTERED_ACCOUNT,
  USER,
  WAIVER,
  withCode,
} from "../state.js";
import { addressOf, encode, gasOf } from "../transaction.js";

/**
 * Gas of the token's own code for a transfer of a few units to an account that holds some, and to oneself. Measured and
 * not counted, because a compiler wrote the code; another EVM confirms the values (anvil.test.ts).
 */
const TOKEN_GAS = { toHolder: 12_633n, toSelf: 5_033n } as const;

const openRegistry: Registry = registry([{ address: "*" }]);
const accountWithoutCode = addressOf(OTHER_USER);

function transferLog(from: string, to: string, amount: bigint): Log {
  const topics = [id("Transfer(address,address,uint256)"), zeroPadValue(from, 32), zeroPadValue(to, 32)];
  return { address: TOKEN, topics, data: AbiCoder.defaultAbiCoder().encode(["uint256"], [amount]) };
}

/** The witness's log: tx.origin, msg.sender, msg.value, the gas price. */
function witnessLog(sender: string, value = 0n): Log {
  const data = AbiCoder.defaultAbiCoder().encode(
    ["address", "address", "uint256", "uint256"],
    [sender, sender, value, 0n],
  );
  return { address: smallContracts.witness.address, topics: [], data };
}

function calling(
  name: string,
  contract: SmallContract,
  inner: Changes = {},
  overrides: Partial<Situation> = {},
) {
  const to = smallContracts[contract].address;
  return {
    name,
    clause: "D9, D10",
    registry: openRegistry,
    inner: { to, data: "0x", ...inner },
    ...overrides,
  };
}

/** Transactions at the limits of the service for their size, which the chain does not have. */
function sizes(): VectorCase[] {
  const ofSize = (name: string, inner: Changes, serviceReason?: string) => {
    const situation = { name, clause: "D3, D9", registry: openRegistry, wrapper: { gasLimit: 400_000n } };
    const plain = { to: accountWithoutCode, data: "0x", gasLimit: 200_000n };
    return included(
      { ...situation, inner: { ...plain, ...inner } },
      serviceReason === undefined ? {} : { serviceReason },
    );
  };
  const bytes = (count: number) => ({ data: `0x${"00".repeat(count)}` });
  const keys = (count: number) => ({
    type: 1 as const,
    accessList: [{ address: TOKEN, storageKeys: Array.from({ length: count }, (_, i) => toBeHex(i, 32)) }],
  });
  const refused = "which a service of such limits refuses and the chain does not";
  return [
    ofSize("calldata of 1,024 bytes", bytes(1_024)),
    ofSize(`calldata of 1,025 bytes, ${refused}`, bytes(1_025), "DATA_TOO_LONG"),
    ofSize("EIP-2930 inner with 50 storage keys", keys(50)),
    ofSize(`EIP-2930 inner with 62 storage keys, ${refused}`, keys(62), "TRANSACTION_TOO_LARGE"),
  ];
}

function transfers(): VectorCase[] {
  const sender = addressOf(USER);
  const log = transferLog(sender, accountWithoutCode, 7n);
  const transfer = (
    name: string,
    inner: Changes = {},
    wrapper: Changes = {},
    overrides: Partial<Situation> = {},
  ) =>
    included(
      { name, clause: "D9, D10", inner, wrapper, ...overrides },
      { execution: TOKEN_GAS.toHolder, logs: [log] },
    );
  /** The InnerTx inside an RLP string: the other reading of "RLP encoding of the InnerTx" (D1). */
  const transferInString = (name: string, inner: Changes) =>
    transfer(name, inner, {}, { clause: "D1, D9", data: `0x${encode(innerTx(inner).bytes)}` });
  const data = transferData(sender, 7n);
  const inner = innerTx();
  /** The inner's gas limit and the wrapper's intrinsic gas. */
  const baseGas = inner.fields.gasLimit + gasOf(wrapperTx(inner.bytes).fields);
  return [
    transfer("token transfer in a legacy inner"),
    transfer("token transfer in an EIP-2930 inner", { type: 1 }),
    transfer("token transfer in an EIP-1559 inner", { type: 2 }),
    transferInString("token transfer in an EIP-2930 inner inside an RLP string", { type: 1 }),
    transferInString("token transfer in an EIP-1559 inner inside an RLP string", { type: 2 }),
    transfer("token transfer in an EIP-2930 wrapper", {}, { type: 1 }),
    transfer("token transfer in an EIP-1559 wrapper", { type: 2 }, { type: 2 }),
    transfer("wrapper gas limit of exactly what is needed", {}, { gasLimit: baseGas + VERIFICATION_GAS }),
    transfer("wrapper gas limit as a service makes it (D5)", {}, { gasLimit: baseGas + 50_000n }),
    transfer("inner gas limit of 10,000,000", { gasLimit: 10_000_000n }, { gasLimit: 11_000_000n }),
    included(
      {
        name: "inner gas limit of 10,000,001, which a service refuses and the chain does not",
        clause: "D3, D7 15",
        inner: { gasLimit: 10_000_001n },
        wrapper: { gasLimit: 11_000_000n },
      },
      { execution: TOKEN_GAS.toHolder, logs: [log], serviceReason: "GAS_LIMIT_TOO_HIGH" },
    ),
    ...sizes(),
    transfer(
      "wrapper of a waiver that was just registered",
      {},
      { signer: UNREGISTERED_ACCOUNT, nonce: 0n },
      {
        registry: registry(undefined, {
          [addressOf(UNREGISTERED_ACCOUNT)]: [{ address: TOKEN, selectors: ["0xa9059cbb"] }],
        }),
      },
    ),
    transfer("wrapper of the other waiver", {}, { signer: OTHER_WAIVER, nonce: 0n }),
    transfer(
      "token transfer of an account that has delegated to a contract (EIP-7702)",
      {},
      {},
      { clause: "D7 13, D9", accounts: withCode(accounts(), `0xef0100${TOKEN.slice(2)}`) },
    ),
    included(
      { name: "token transfer to oneself", clause: "D9, D10", inner: { data } },
      { execution: TOKEN_GAS.toSelf, logs: [transferLog(sender, sender, 7n)] },
    ),
    included(
      {
        name: "first transactions of the waiver and of the user, both with nonce 0",
        clause: "D9",
        accounts: accounts({}, {}),
        inner: { nonce: 0n },
        wrapper: { nonce: 0n },
      },
      { execution: TOKEN_GAS.toHolder, logs: [log] },
    ),
  ];
}

function callerCases(): VectorCase[] {
  const gas = { execution: smallContracts.witness.gas };
  const effectsFor = (signer: number, value = 0n) => ({
    ...gas,
    logs: [witnessLog(addressOf(signer), value)],
  });
  return [
    included(calling("tx.origin and msg.sender are the user, the price is 0", "witness"), effectsFor(USER)),
    included(
      calling("tx.origin and msg.sender in an EIP-2930 inner", "witness", { type: 1 }),
      effectsFor(USER),
    ),
    included(
      calling("tx.origin and msg.sender in an EIP-1559 inner", "witness", { type: 2 }),
      effectsFor(USER),
    ),
    included(
      calling(
        "tx.origin and msg.sender with value, which moves from the user",
        "witness",
        { value: 10n },
        {
          accounts: accounts({ [USER]: 10n, [WAIVER]: 5n }),
        },
      ),
      { ...effectsFor(USER, 10n), paid: smallContracts.witness.address },
    ),
    included(
      calling("waiver's own inner, with the nonce after its wrapper's", "witness", {
        signer: WAIVER,
        nonce: 4n,
      }),
      effectsFor(WAIVER),
    ),
    included(
      calling("inner of the other waiver", "witness", { signer: OTHER_WAIVER, nonce: 0n }),
      effectsFor(OTHER_WAIVER),
    ),
  ];
}

function failures(): VectorCase[] {
  const funded = { accounts: accounts({ [USER]: 10n }) };
  const limit = { gasLimit: 50_000n };
  const intrinsic = gasOf(innerTx({ to: smallContracts.witness.address, data: "0x" }).fields);
  return [
    included(calling("inner that reverts", "reverts"), { status: 0, execution: smallContracts.reverts.gas }),
    included(calling("inner that reverts with value, which stays", "reverts", { value: 10n }, funded), {
      status: 0,
      execution: smallContracts.reverts.gas,
    }),
    included(calling("inner that meets an invalid instruction", "invalid instruction", limit), {
      status: 0,
      gasUsed: 50_000n,
    }),
    included(calling("inner that loops until its gas is used", "endless loop", limit), {
      status: 0,
      gasUsed: 50_000n,
    }),
    included(
      calling("inner with exactly its intrinsic gas, and none to run", "witness", { gasLimit: intrinsic }),
      {
        status: 0,
        gasUsed: intrinsic,
      },
    ),
    included(
      calling("inner one gas short of its execution", "witness", {
        gasLimit: intrinsic + smallContracts.witness.gas - 1n,
      }),
      { status: 0, gasUsed: intrinsic + smallContracts.witness.gas - 1n },
    ),
    included(
      calling("inner with exactly the gas of its execution", "witness", {
        gasLimit: intrinsic + smallContracts.witness.gas,
      }),
      { execution: smallContracts.witness.gas, logs: [witnessLog(addressOf(USER))] },
    ),
  ];
}

function effects(): VectorCase[] {
  const key = `0x${"00".repeat(32)}`;
  const reads = smallContracts["reads storage"];
  const accessList = [{ address: reads.address, storageKeys: [key] }];
  return [
    included(calling("inner that writes storage", "writes storage"), {
      execution: smallContracts["writes storage"].gas,
    }),
    included(calling("inner that reads cold storage", "reads storage"), { execution: reads.gas }),
    included(
      calling("inner that reads storage of its access list", "reads storage", { type: 1, accessList }),
      {
        execution: reads.gas - 2_000n,
      },
    ),
    included(
      calling("EIP-1559 inner that reads storage of its access list", "reads storage", {
        type: 2,
        accessList,
      }),
      {
        execution: reads.gas - 2_000n,
      },
    ),
    included(
      {
        ...calling("access list of the wrapper, which warms nothing for the inner", "reads storage"),
        wrapper: { type: 1, accessList },
      },
      { execution: reads.gas },
    ),
    withAccount(
      included(calling("inner that creates a contract in its call", "creates a contract"), {
        execution: smallContracts["creates a contract"].gas,
      }),
      getCreateAddress({ from: smallContracts["creates a contract"].address, nonce: 1 }).toLowerCase(),
    ),
    included(calling("inner to a contract that self-destructs (EIP-6780: it stays)", "self-destructs"), {
      execution: smallContracts["self-destructs"].gas,
    }),
  ];
}

/** Adds a created contract to the expected accounts. Its nonce is 1 (EIP-161). */
function withAccount(one: VectorCase, created: string): VectorCase {
  if (one.expect.verdict !== "included") return one;
  const after = { ...one.expect.accounts, [created]: { nonce: "1", balance: "0" } };
  return { ...one, expect: { ...one.expect, accounts: after } };
}

const noCode = { clause: "D9, D10", registry: openRegistry };
const callTo = (target: string, changes: Changes = {}) => ({ to: target, data: "0x", ...changes });

function withoutCode(): VectorCase[] {
  const ones = `0x${"01".repeat(1_000)}`;
  return [
    included({ ...noCode, name: "inner to an account without code", inner: callTo(accountWithoutCode) }),
    included({
      ...noCode,
      name: "inner without data to its own sender, where any target is permitted",
      inner: callTo(addressOf(USER)),
    }),
    included({ ...noCode, name: "inner to the waiver that carries it", inner: callTo(addressOf(WAIVER)) }),
    included(
      {
        ...noCode,
        name: "whole balance to an account without code",
        inner: callTo(accountWithoutCode, { value: 10n }),
        accounts: accounts({ [USER]: 10n }),
      },
      { paid: accountWithoutCode },
    ),
    included(
      {
        ...noCode,
        name: "value to oneself",
        inner: callTo(addressOf(USER), { value: 10n }),
        accounts: accounts({ [USER]: 10n }),
      },
      { paid: addressOf(USER) },
    ),
    included(
      {
        ...noCode,
        name: "value to the waiver",
        inner: callTo(addressOf(WAIVER), { value: 4n }),
        accounts: accounts({ [USER]: 10n }),
      },
      { paid: addressOf(WAIVER) },
    ),
    included({
      ...noCode,
      name: "calldata whose floor is above its gas (EIP-7623)",
      inner: callTo(accountWithoutCode, { data: ones }),
    }),
  ];
}

/** Gas of SHA-256 is 60, and 12 for each word; gas of identity is 15, and 3 for each word. */
function precompiles(): VectorCase[] {
  const precompile = (number: number) => `0x${number.toString(16).padStart(40, "0")}`;
  return [
    included({ ...noCode, name: "the precompile SHA-256", inner: callTo(precompile(2)) }, { execution: 60n }),
    included(
      {
        ...noCode,
        name: "the precompile identity, of four words",
        inner: callTo(precompile(4), { data: `0x${"00".repeat(128)}` }),
      },
      { execution: 27n },
    ),
    included(
      {
        ...noCode,
        name: "the precompile SHA-256 without the gas it needs",
        inner: callTo(precompile(2), { gasLimit: 21_059n }),
      },
      { status: 0, gasUsed: 21_059n },
    ),
  ];
}

export const executionCases = (): VectorCase[] => [
  ...transfers(),
  ...callerCases(),
  ...failures(),
  ...effects(),
  ...withoutCode(),
  ...precompiles(),
];
