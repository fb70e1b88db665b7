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
    ["selector 0x00000000, which the policy does not name", undefined, { data: "0x00000000" }],
    ["selector 0xffffffff, which the policy does not name", undefined, { data: "0xffffffff" }],
    ["calldata of three bytes where selectors are named", undefined, { data: "0xa9059c" }],
    ["calldata of one byte where selectors are named", undefined, { data: "0xa9" }],
    ["no calldata where selectors are named", undefined, { data: "0x" }],
    [
      "no calldata where the policy names 0x00000000",
      [{ address: TOKEN, selectors: ["0x00000000"] }],
      { data: "0x" },
    ],
    [
      "calldata of three zero bytes where the policy names 0x00000000",
      [{ address: TOKEN, selectors: ["0x00000000"] }],
      { data: "0x000000" },
    ],
    ["selector where the policy names 0x00000000 only", [{ address: TOKEN, selectors: ["0x00000000"] }], {}],
    [
      "selector that the policy names for another contract",
      [
        { address: TOKEN, selectors: [APPROVE] },
        { address: witness, selectors: [TRANSFER] },
      ],
      {},
    ],
    ["policy for another selector of any contract", [{ address: ANY, selectors: [APPROVE] }], {}],
    [
      "policy with selectors of any contract, inner without calldata",
      [{ address: ANY, selectors: [TRANSFER] }],
      { data: "0x" },
    ],
    [
      "policy with selectors of any contract, calldata of three bytes",
      [{ address: ANY, selectors: [TRANSFER] }],
      { data: "0xa9059c" },
    ],
    [
      "policy for one selector of any contract and another one of this contract, calldata with a third",
      [
        { address: ANY, selectors: [APPROVE] },
        { address: TOKEN, selectors: ["0x23b872dd"] },
      ],
      {},
    ],
    [
      "calldata with the permitted selector after four other bytes",
      undefined,
      { data: `0x00000000${TRANSFER.slice(2)}` },
    ],
  ]);

const permitted = (): VectorCase[] =>
  allowed([
    ["calldata that is the permitted selector and nothing more", forAccount(TRANSFER), { data: TRANSFER }],
    ["calldata of the permitted selector and one byte", forAccount(TRANSFER), { data: `${TRANSFER}01` }],
    [
      "calldata with the last of twenty permitted selectors",
      forAccount(...Array.from({ length: 20 }, (_, i) => `0x${(i + 1).toString(16).padStart(8, "0")}`)),
      { data: "0x00000014" },
    ],
    ["permitted selector 0x00000000", forAccount("0x00000000"), { data: "0x00000000" }],
    ["permitted selector 0xffffffff", forAccount("0xffffffff"), { data: "0xffffffff" }],
    ["policy that names a selector twice", forAccount(TRANSFER, TRANSFER), { data: TRANSFER }],
    [
      "policy for any calldata of a contract, inner without calldata",
      [{ address: accountWithoutCode }],
      { data: "0x" },
    ],
    [
      "policy for any calldata of a contract, calldata of one byte",
      [{ address: accountWithoutCode }],
      { data: "0x00" },
    ],
    [
      "policy for any calldata of a contract, calldata of three bytes",
      [{ address: accountWithoutCode }],
      { data: "0xa9059c" },
    ],
    [
      "policy for any calldata of a contract, calldata with a selector",
      [{ address: accountWithoutCode }],
      {},
    ],
    ["policy for any calldata of any contract, calldata of one byte", [{ address: ANY }], { data: "0x00" }],
    ["policy for any calldata of any contract, calldata with a selector", [{ address: ANY }], {}],
    ["policy for the selector of any contract", [{ address: ANY, selectors: [TRANSFER] }], {}],
    [
      "policy for another selector of any contract and this selector of the contract",
      [{ address: ANY, selectors: [APPROVE] }, ...forAccount(TRANSFER)],
      {},
    ],
    [
      "policy for this selector of any contract and another selector of the contract",
      [{ address: ANY, selectors: [TRANSFER] }, ...forAccount(APPROVE)],
      {},
    ],
    [
      "policy with an entry for one selector before an entry for any calldata of the same contract",
      [...forAccount(APPROVE), { address: accountWithoutCode }],
      {},
    ],
    [
      "policy with an entry for any calldata before an entry for one selector of the same contract",
      [{ address: accountWithoutCode }, ...forAccount(APPROVE)],
      { data: "0x" },
    ],
    [
      "policy with two entries for one selector each of the same contract",
      [...forAccount(APPROVE), ...forAccount(TRANSFER)],
      {},
    ],
    [
      "policy for any calldata of any contract, inner to the zero address",
      [{ address: ANY }],
      { to: `0x${"00".repeat(20)}`, data: "0x" },
    ],
  ]);

/** A call that reverts in the contract. The policy permits the call, whatever its outcome. */
const judgedByPolicyAlone = (): VectorCase[] => [
  included(
    {
      name: "inner to a permitted contract that reverts",
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
