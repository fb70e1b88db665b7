import { define } from "../define.js";
import { type DetailName, type Kind, kindOf } from "./detailNames.js";

const TYPE_LABELS: Readonly<Record<Kind, string>> = /* @__PURE__ */ define(() => ({
  decimal: "decimal text",
  number: "number",
  text: "text",
  time: "ISO 8601",
  address: "address",
  hash: "hash",
  selector: "selector or null",
  selectors: "array of selectors",
  data: "0x hex",
}));

const MEANINGS: Readonly<Record<DetailName, string>> = /* @__PURE__ */ define(() => ({
  allowedSelectors:
    "The methods of the target that may be called; at most 100 are listed, and none where no method of it may be.",
  asked: "The amount that was asked for, in the unit of the limit.",
  balance: "The sender's balance in wei.",
  blockNumber: "The block of the transaction.",
  burst: "The number of tokens that can be used at once.",
  bytes: "The length of the calldata, or of the signed transaction.",
  cap: "The cap that is used up: `transactions`, `gas`, `senderTransactions` or `senderGas`.",
  capacity: "The number, or the bytes, that fit.",
  cause:
    "The kind of the revert: `error` (a text of the contract), `panic` (a check of the compiler), `custom` (an error of the contract's own), `empty` (no data), `out_of_gas`, or `halted` (another exceptional halt). Absent where no node could run the transaction again.",
  causeFrom:
    "The way in which the cause was found. `call`: the transaction ran alone on the state of the block before, so that earlier transactions of its block may explain a difference. `trace`: it ran at its place in the block.",
  causeMessage: "The contract's text, or a description of the cause in a sentence's words.",
  chainId: "The chain that the transaction is signed for.",
  ends: "The end of the cap's day.",
  expected:
    "The chain id, or the sender's next nonce, that would have been right. Where it is known that the nonce is used and not how many after it are, the one after it.",
  gasLimit: "The transaction's gas limit.",
  gasPrice: "The gas price, or the higher one of the two fees, in wei.",
  gasUsed: "The gas that the transaction used.",
  held: "The number of submissions in the queue, or in the key's share of it.",
  index: "The position in the array of the first element of another type.",
  intrinsicGas: "The least gas limit of this transaction.",
  limit: "The cap.",
  maxBatchSize: "The most transactions of one request.",
  maxBodyBytes: "The longest body.",
  maxDataLength: "The longest calldata in bytes.",
  maxGasLimit: "The highest gas limit.",
  maxWrapperBytes: "The longest wrapper.",
  missing: "The sender's nonce that did not come.",
  missingHolder:
    "Who has the missing nonce. `failed`: a submission of this key, which failed; `submission` names it. `unknown`: the service holds no transaction with it.",
  needed: "The least gas limit of the wrapper.",
  nodeCode: "The code of the node's JSON-RPC error.",
  nodeMessage: "The node's own words.",
  nonce: "The transaction's nonce.",
  panic: "The code of a panic as 0x hex, such as `0x11` for an arithmetic overflow.",
  parameter: "The parameter of the query.",
  ratePerSecond: "The rate that is allowed in the long run.",
  remaining: "The tokens that are left.",
  retryAfterSeconds: "The pause after which the same request passes; `Retry-After` has it too.",
  revertData:
    "The data of a contract's own error, selector first, up to 1,024 bytes. An ABI decodes it: `revertOf` of the SDK's entries for viem and ethers.",
  selector: "The method that the transaction calls; null if its calldata has none.",
  submission:
    "The id of the submission that has the nonce; with `NONCE_GAP`, of the last one that failed with the missing nonce.",
  target: "The contract that the transaction calls.",
  txHash:
    "The hash of the transaction that the error is about: the one that reverted, or the one that was sent under the `Idempotency-Key` before.",
  unit: "The things that the rate counts: `transactions` or `reads`.",
  used: "The part of the cap that is used.",
  usedBy: "The transaction that used the nonce.",
  value: "The value that the transaction carries, in wei.",
  wrapperBytes: "The length of the wrapper.",
}));

/** The type and the meaning of each value of an error's details, for the reference. */
export const DETAIL_NOTES: Readonly<Record<DetailName, { readonly type: string; readonly meaning: string }>> =
  /* @__PURE__ */ define(() => {
    const names = Object.keys(MEANINGS) as DetailName[];
    const entries = names.map((name) => {
      const type = TYPE_LABELS[kindOf(name) ?? "text"];
      return [name, { type, meaning: MEANINGS[name] }] as const;
    });
    return Object.fromEntries(entries) as Record<DetailName, { type: string; meaning: string }>;
  });
