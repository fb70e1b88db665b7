// AllowedTarget (D4): calls that a waiver's policy permits, and calls that it does not.
import { type Changes, included, refusedByBoth, type VectorCase } from "../case.js";
import {
  type AllowedTargetJson,
  APPROVE,
  OTHER_USER,
  registry,
  smallContracts,
  TOKEN,
  TRANSFER,
} from "../state.js";
import { addressOf } from "../transaction.js";

const clause = "D7 9, D4";
const ANY = "*";
const witness = smallContracts.witness.address;
const reverts = smallContracts.reverts.address;
const accountWithoutCode = addressOf(OTHER_USER);

type PolicyCase = [name: string, policy: readonly AllowedTargetJson[] | undefined, inner: Changes];

function notAllowed(reason: string, cases: readonly PolicyCase[]): VectorCase[] {
  return cases.map(([name, policy, inner]) =>
    refusedByBoth({ name, clause, registry: registry(policy), inner }, "target and selector", reason),
  );
}

/** Cases that call an account without code, whose gas is that of the calldata alone. */
function allowed(cases: readonly PolicyCase[]): VectorCase[] {
  return cases.map(([name, policy, inner]) =>
    included({ name, clause, registry: registry(policy), inner: { to: accountWithoutCode, ...inner } }),
  );
}

const forAccount = (...selectors: string[]) => [{ address: accountWithoutCode, selectors }];

const targets = (): VectorCase[] =>
  notAllowed("TARGET_NOT_ALLOWED", [
    ["empty policy", [], {}],
    ["policy that names another contract only", [{ address: witness }], {}],
    [
      "policy that names the selector for another contract only",
      [{ address: witness, selectors: [TRANSFER] }],
      {},
    ],
    ["policy for any calldata of another contract, and no calldata", [{ address: witness }], { data: "0x" }],
  ]);

const selectors = (): VectorCase[] =>
  notAllowed("SELECTOR_NOT_ALLOWED", [
    ["selector that the policy does not name", undefined, { data: `0x70a08231${"00".repeat(32)}` }],
    ["selector that differs in its last bit", undefined, { data: "0xa9059cba" }],
    ["selector of zeros where others are named", undefined, { data: "0x00000000" }],
    ["selector of ones where others are named", undefined, { data: "0xffffffff" }],
    ["calldata of three bytes where selectors are named", undefined, { data: "0xa9059c" }],
    ["calldata of one byte where selectors are named", undefined, { data: "0xa9" }],
    ["no calldata where selectors are named", undefined, { data: "0x" }],
    [
      "no calldata where the selector of zeros is named",
      [{ address: TOKEN, selectors: ["0x00000000"] }],
      { data: "0x" },
    ],
    [
      "three zero bytes where the selector of zeros is named",
      [{ address: TOKEN, selectors: ["0x00000000"] }],
      { data: "0x000000" },
    ],
    ["selector where the selector of zeros is named", [{ address: TOKEN, selectors: ["0x00000000"] }], {}],
    [
      "selector that is named for another contract",
      [
        { address: TOKEN, selectors: [APPROVE] },
        { address: witness, selectors: [TRANSFER] },
      ],
      {},
    ],
    ["any contract, but another selector", [{ address: ANY, selectors: [APPROVE] }], {}],
    [
      "any contract with selectors, and no calldata",
      [{ address: ANY, selectors: [TRANSFER] }],
      { data: "0x" },
    ],
    [
      "any contract with selectors, and calldata of three bytes",
      [{ address: ANY, selectors: [TRANSFER] }],
      { data: "0xa9059c" },
    ],
    [
      "any contract with one selector and the contract with another, and a third",
      [
        { address: ANY, selectors: [APPROVE] },
        { address: TOKEN, selectors: ["0x23b872dd"] },
      ],
      {},
    ],
    ["the right selector behind four bytes", undefined, { data: `0x00000000${TRANSFER.slice(2)}` }],
  ]);

const permitted = (): VectorCase[] =>
  allowed([
    ["calldata of exactly a selector that is named", forAccount(TRANSFER), { data: TRANSFER }],
    ["calldata of five bytes that begin with a selector", forAccount(TRANSFER), { data: `${TRANSFER}01` }],
    [
      "the last of many selectors",
      forAccount(...Array.from({ length: 20 }, (_, i) => `0x${(i + 1).toString(16).padStart(8, "0")}`)),
      { data: "0x00000014" },
    ],
    ["the selector of zeros, named", forAccount("0x00000000"), { data: "0x00000000" }],
    ["the selector of ones, named", forAccount("0xffffffff"), { data: "0xffffffff" }],
    ["a selector named twice", forAccount(TRANSFER, TRANSFER), { data: TRANSFER }],
    ["any calldata of a contract, and none", [{ address: accountWithoutCode }], { data: "0x" }],
    ["any calldata of a contract, and one byte", [{ address: accountWithoutCode }], { data: "0x00" }],
    ["any calldata of a contract, and three bytes", [{ address: accountWithoutCode }], { data: "0xa9059c" }],
    ["any calldata of a contract, and a selector", [{ address: accountWithoutCode }], {}],
    ["any contract and any calldata, and one byte", [{ address: ANY }], { data: "0x00" }],
    ["any contract and any calldata, and a selector", [{ address: ANY }], {}],
    ["any contract with the selector", [{ address: ANY, selectors: [TRANSFER] }], {}],
    [
      "any contract with another selector, and the contract with this one",
      [{ address: ANY, selectors: [APPROVE] }, ...forAccount(TRANSFER)],
      {},
    ],
    [
      "any contract with this selector, and the contract with another one",
      [{ address: ANY, selectors: [TRANSFER] }, ...forAccount(APPROVE)],
      {},
    ],
    [
      "a narrow entry beside a wide one of the same contract",
      [...forAccount(APPROVE), { address: accountWithoutCode }],
      {},
    ],
    [
      "a wide entry beside a narrow one of the same contract",
      [{ address: accountWithoutCode }, ...forAccount(APPROVE)],
      { data: "0x" },
    ],
    [
      "two narrow entries of the same contract, which add up",
      [...forAccount(APPROVE), ...forAccount(TRANSFER)],
      {},
    ],
    ["any contract, and the zero address", [{ address: ANY }], { to: `0x${"00".repeat(20)}`, data: "0x" }],
  ]);

/** A call that reverts in the contract. The policy permits the call, whatever its outcome. */
const judgedByPolicyAlone = (): VectorCase[] => [
  included(
    {
      name: "a contract that the policy names and that reverts",
      clause,
      registry: registry([{ address: reverts }]),
      inner: { to: reverts, data: "0x" },
    },
    { status: 0, execution: smallContracts.reverts.gas },
  ),
];

export const policyCases = (): VectorCase[] => [
  ...targets(),
  ...selectors(),
  ...permitted(),
  ...judgedByPolicyAlone(),
];
