// Rules on a decoded InnerTx: price, chain, target and selector, signature, nonces, value, gas limits.
import {
  type Changes,
  innerTx,
  refused,
  refusedByBoth,
  refusedByChain,
  transferData,
  VERIFICATION_GAS,
  type VectorCase,
  wrapperTx,
} from "../case.js";
import {
  accounts,
  MARKER,
  OTHER_USER,
  OTHER_WAIVER,
  REGISTRY,
  TOKEN,
  USER,
  WAIVER,
  withCode,
} from "../state.js";
import { addressOf, gasOf, integer, otherParity, set } from "../transaction.js";

const MAX_UINT256 = 2n ** 256n - 1n;
const R_OF_NO_POINT = "0x05";

function price(): VectorCase[] {
  const cases: [string, Changes][] = [
    ["legacy inner with a gas price of 1 wei", { gasPrice: 1n }],
    ["legacy inner with the highest gas price", { gasPrice: MAX_UINT256 }],
    ["EIP-2930 inner with a gas price of 1 wei", { type: 1, gasPrice: 1n }],
    ["EIP-1559 inner with a fee cap of 1 wei", { type: 2, maxFeePerGas: 1n }],
    ["EIP-1559 inner with a tip of 1 wei and a fee cap of 0", { type: 2, maxPriorityFeePerGas: 1n }],
    ["EIP-1559 inner with both fees", { type: 2, maxFeePerGas: 9n, maxPriorityFeePerGas: 9n }],
  ];
  return cases.map(([name, inner]) =>
    refusedByBoth({ name, clause: "D7 7, D3", inner }, "inner gas price", "NON_ZERO_GAS_PRICE"),
  );
}

function chain(): VectorCase[] {
  const cases: [string, Changes][] = [
    ["inner signed for chain 988, the mainnet", { chainId: 988n }],
    ["inner signed for chain 0", { chainId: 0n }],
    ["inner signed for chain 1", { chainId: 1n }],
    ["inner signed for chain 2200", { chainId: 2_200n }],
    ["inner signed for chain 2202", { chainId: 2_202n }],
    ["EIP-2930 inner signed for chain 0", { type: 1, chainId: 0n }],
    ["EIP-1559 inner signed for chain 988", { type: 2, chainId: 988n }],
    ["EIP-1559 inner signed for chain 2^256 - 1", { type: 2, chainId: MAX_UINT256 }],
    ["legacy inner with the highest v", { edit: set("v", integer(MAX_UINT256)) }],
  ];
  return cases.map(([name, inner]) =>
    refusedByBoth({ name, clause: "D7 8, D27", inner }, "inner chain id", "WRONG_CHAIN_ID"),
  );
}

function calls(): VectorCase[] {
  const check = "target and selector";
  const wrapper = wrapperTx(innerTx().bytes).bytes;
  const cases: [name: string, reason: string, situation: { inner?: Changes; data?: string }][] = [
    ["inner that creates a contract", "CONTRACT_CREATION", { inner: { to: null } }],
    ["EIP-1559 inner that creates a contract", "CONTRACT_CREATION", { inner: { type: 2, to: null } }],
    ["inner that creates a contract from no code", "CONTRACT_CREATION", { inner: { to: null, data: "0x" } }],
    ["inner to the marker", "TARGET_IS_MARKER", { inner: { to: MARKER } }],
    ["inner that is itself a wrapper of the same waiver", "TARGET_IS_MARKER", { data: wrapper }],
    [
      "EIP-2930 inner to the marker with no data",
      "TARGET_IS_MARKER",
      { inner: { type: 1, to: MARKER, data: "0x" } },
    ],
    ["inner to the registry", "TARGET_NOT_ALLOWED", { inner: { to: REGISTRY } }],
    ["inner to its own sender", "TARGET_NOT_ALLOWED", { inner: { to: addressOf(USER) } }],
    ["inner to the waiver", "TARGET_NOT_ALLOWED", { inner: { to: addressOf(WAIVER) } }],
    ["inner to the zero address", "TARGET_NOT_ALLOWED", { inner: { to: `0x${"00".repeat(20)}` } }],
    ["inner to a precompile", "TARGET_NOT_ALLOWED", { inner: { to: `0x${"00".repeat(19)}01` } }],
    [
      "inner to an address one bit from the token",
      "TARGET_NOT_ALLOWED",
      { inner: { to: `${TOKEN.slice(0, -1)}8` } },
    ],
  ];
  return cases.map(([name, reason, situation]) =>
    refusedByBoth({ name, clause: "D7 9, D3", ...situation }, check, reason),
  );
}

function signature(): VectorCase[] {
  const noKey = ([0, 1, 2] as const).map((type) =>
    refusedByBoth(
      {
        name: `inner of type ${type} whose r is not the x coordinate of a point`,
        clause: "D7 10",
        inner: { type, edit: set("r", R_OF_NO_POINT) },
      },
      "inner signature",
      "INVALID_SIGNATURE",
    ),
  );
  // The wrong parity recovers to another account. It has sent nothing, so the nonce 2 is too high for it.
  const otherParityCase = refused(
    {
      name: "inner with the other parity, which recovers to another account",
      clause: "D7 12",
      inner: { edit: otherParity },
    },
    "inner nonce",
    "NONCE_GAP",
  );
  return [...noKey, otherParityCase];
}

function nonces(): VectorCase[] {
  const wrapper = (name: string, nonce: bigint, reason: string) =>
    refusedByChain({ name, clause: "D7 11", wrapper: { nonce } }, "wrapper nonce", reason);
  const inner = (name: string, nonce: bigint, reason: string) =>
    refusedByChain({ name, clause: "D7 12", inner: { nonce } }, "inner nonce", reason);
  const ownInner = (name: string, nonce: bigint) => ({
    name,
    clause: "D9",
    inner: { signer: WAIVER, nonce },
  });
  return [
    wrapper("wrapper with the nonce before the next", 2n, "WRAPPER_NONCE_TOO_LOW"),
    wrapper("wrapper with nonce 0, which is used", 0n, "WRAPPER_NONCE_TOO_LOW"),
    wrapper("wrapper with the nonce after the next", 4n, "WRAPPER_NONCE_GAP"),
    wrapper("wrapper with the highest nonce", 2n ** 64n - 2n, "WRAPPER_NONCE_GAP"),
    inner("inner with the nonce before the next", 1n, "NONCE_TOO_LOW"),
    inner("inner with nonce 0, which is used", 0n, "NONCE_TOO_LOW"),
    inner("inner with the nonce after the next", 3n, "NONCE_GAP"),
    inner("inner with the highest nonce", 2n ** 64n - 2n, "NONCE_GAP"),
    refusedByChain(
      ownInner("waiver's own inner with the nonce of its wrapper", 3n),
      "inner nonce",
      "NONCE_TOO_LOW",
    ),
    refusedByChain(
      ownInner("waiver's own inner with a nonce two above its wrapper's", 5n),
      "inner nonce",
      "NONCE_GAP",
    ),
    refused(
      {
        name: "wrapper of the other waiver with this waiver's nonce",
        clause: "D7 11",
        wrapper: { signer: OTHER_WAIVER },
      },
      "wrapper nonce",
      "WRAPPER_NONCE_GAP",
    ),
  ];
}

function senderCode(): VectorCase[] {
  const situation = (name: string, code: string) => ({
    name,
    clause: "D7 13",
    accounts: withCode(accounts(), code),
  });
  const target = TOKEN.slice(2);
  const cases = [
    situation("inner of an account with the code of a contract", "0x00"),
    situation(
      "inner of an account that is a proxy",
      `0x363d3d373d3d3d363d73${target}5af43d82803e903d91602b57fd5bf3`,
    ),
    situation("inner of an account with a byte in front of a delegation", `0x00ef0100${target}`),
  ];
  return cases.map((one) => refusedByChain(one, "sender code", "SENDER_IS_CONTRACT"));
}

function value(): VectorCase[] {
  const check = "inner value";
  const situation = (name: string, wei: bigint, balances: Record<number, bigint>) => ({
    name,
    clause: "D7 14",
    inner: { value: wei },
    accounts: accounts(balances),
  });
  const cases = [
    situation("inner with a value of 1 wei from an empty account", 1n, {}),
    situation("inner with a value of 1 wei more than the balance", 11n, { [USER]: 10n }),
    situation("inner with the highest value", MAX_UINT256, { [USER]: 10n }),
    situation("inner with a value that only the waiver could pay", 5n, { [WAIVER]: 10n }),
    situation("inner with a value that only the recipient has", 5n, { [OTHER_USER]: 10n }),
  ];
  return cases.map((one) => refusedByChain(one, check, "INSUFFICIENT_BALANCE"));
}

function gasLimits(): VectorCase[] {
  const check = "wrapper gas limit";
  const innerGas = gasOf(innerTx().fields);
  const neededGas = (changes: Changes = {}, inner: Changes = {}) => {
    const signed = innerTx(inner);
    return signed.fields.gasLimit + gasOf(wrapperTx(signed.bytes, changes).fields) + VERIFICATION_GAS;
  };
  const withAccessList = {
    type: 1,
    accessList: [{ address: TOKEN, storageKeys: [`0x${"00".repeat(32)}`] }],
  } as const;
  const tooLow = (name: string, gasLimit: bigint, wrapper: Changes = {}, inner: Changes = {}) =>
    refusedByChain(
      { name, clause: "D7 15", wrapper: { ...wrapper, gasLimit }, inner },
      check,
      "WRAPPER_GAS_LIMIT_TOO_LOW",
    );
  const tooLowInside = (name: string, inner: Changes) =>
    refusedByBoth({ name, clause: "D7 15, D3", inner }, check, "GAS_LIMIT_TOO_LOW");
  const zeros = { data: `${transferData(addressOf(OTHER_USER), 0n)}${"00".repeat(400)}` };
  return [
    tooLow("wrapper gas limit one below what is needed", neededGas() - 1n),
    tooLow("wrapper gas limit without the chain's verification gas", neededGas() - VERIFICATION_GAS),
    tooLow("wrapper gas limit of the inner's alone", 100_000n),
    tooLow("wrapper gas limit of 0", 0n),
    tooLow(
      "EIP-2930 wrapper gas limit one below what its access list needs",
      neededGas(withAccessList) - 1n,
      withAccessList,
    ),
    // The service refuses such a gas limit by its own bound; the chain must not be fooled by an overflow.
    refusedByBoth(
      {
        name: "inner gas limit of 2^64 - 1, so that the sum passes 2^64",
        clause: "D7 15",
        inner: { gasLimit: 2n ** 64n - 1n },
        wrapper: { gasLimit: 2n ** 64n - 1n },
      },
      check,
      "WRAPPER_GAS_LIMIT_TOO_LOW",
      "GAS_LIMIT_TOO_HIGH",
    ),
    tooLowInside("inner gas limit one below its intrinsic gas", { gasLimit: innerGas - 1n }),
    tooLowInside("inner gas limit of 21,000 with calldata", { gasLimit: 21_000n }),
    tooLowInside("inner gas limit of 0", { gasLimit: 0n }),
    tooLowInside("inner gas limit one below the floor of its zero bytes (EIP-7623)", {
      ...zeros,
      gasLimit: gasOf(innerTx(zeros).fields) - 1n,
    }),
    tooLowInside("EIP-2930 inner gas limit one below what its access list needs", {
      ...withAccessList,
      gasLimit: gasOf(innerTx(withAccessList).fields) - 1n,
    }),
  ];
}

export const ruleCases = (): VectorCase[] => [
  ...price(),
  ...chain(),
  ...calls(),
  ...signature(),
  ...nonces(),
  ...senderCode(),
  ...value(),
  ...gasLimits(),
];
