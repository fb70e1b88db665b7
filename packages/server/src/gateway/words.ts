import { codeOf, type ErrorBody, type ErrorCode, isReason, type Reason } from "@gas-waiver/protocol";
import { GatewayRefusal, RPC_CODES } from "./jsonRpc.js";

/** The start of a message, and the code, that nodes have for the same refusal. Wallets recognize errors by these. */
interface NodeWords {
  readonly code: number;
  readonly words: string;
}

const ofTransaction = (words: string): NodeWords => ({ code: RPC_CODES.serverError, words });

/** The words of geth (`core/txpool/errors.go`, `core/error.go`), which ethers, viem and wallets look for. */
const WORDS: Readonly<Partial<Record<Reason, NodeWords>>> = {
  NONCE_TOO_LOW: ofTransaction("nonce too low"),
  NONCE_GAP: ofTransaction("nonce too high"),
  NONCE_CONFLICT: ofTransaction("replacement transaction underpriced"),
  NONCE_OUT_OF_RANGE: ofTransaction("nonce has max value"),
  SENDER_IS_CONTRACT: ofTransaction("sender not an eoa"),
  INSUFFICIENT_BALANCE: ofTransaction("insufficient funds for gas * price + value"),
  GAS_LIMIT_TOO_LOW: ofTransaction("intrinsic gas too low"),
  GAS_LIMIT_TOO_HIGH: ofTransaction("exceeds block gas limit"),
  DATA_TOO_LONG: ofTransaction("oversized data"),
  TRANSACTION_TOO_LARGE: ofTransaction("oversized data"),
  WRONG_CHAIN_ID: ofTransaction("invalid chain id for signer"),
  INVALID_SIGNATURE: ofTransaction("invalid sender"),
  HIGH_S_SIGNATURE: ofTransaction("invalid sender"),
  UNPROTECTED_SIGNATURE: ofTransaction("only replay-protected (EIP-155) transactions allowed over RPC"),
  CUSTOM_TX_UNSUPPORTED: ofTransaction("transaction type not supported"),
  UNSUPPORTED_TYPE: ofTransaction("transaction type not supported"),
  QUEUE_AT_CAPACITY: ofTransaction("txpool is full"),
  KEY_SHARE_EXHAUSTED: ofTransaction("txpool is full"),
};

/** The codes and words of the reasons that are not in {@link WORDS}. */
const WORDS_BY_CODE: Readonly<Record<ErrorCode, NodeWords>> = {
  PARSE_ERROR: { code: RPC_CODES.invalidParams, words: "invalid transaction" },
  VALIDATION_FAILED: { code: RPC_CODES.transactionRejected, words: "transaction rejected" },
  BROADCAST_FAILED: { code: RPC_CODES.transactionRejected, words: "transaction rejected" },
  TIMEOUT: { code: RPC_CODES.internalError, words: "timeout" },
  RATE_LIMITED: { code: RPC_CODES.limitExceeded, words: "limit exceeded" },
  QUEUE_FULL: { code: RPC_CODES.limitExceeded, words: "limit exceeded" },
  BATCH_SIZE_EXCEEDED: { code: RPC_CODES.invalidRequest, words: "batch too large" },
  INVALID_REQUEST: { code: RPC_CODES.invalidRequest, words: "invalid request" },
  UNAUTHORIZED: { code: RPC_CODES.invalidRequest, words: "unauthorized" },
  NOT_FOUND: { code: RPC_CODES.invalidRequest, words: "not found" },
  UNAVAILABLE: { code: RPC_CODES.internalError, words: "unavailable" },
};

/**
 * Turns a refusal of the service into one of JSON-RPC: the words of a node first, then the service's message, and for
 * programs the `reason` of docs/errors.md with the submission's id.
 */
export function refusalFor({ reason, message, details }: ErrorBody, id?: string): GatewayRefusal {
  const known = reason !== undefined && isReason(reason) ? reason : undefined;
  const { code, words } = (known && WORDS[known]) ?? WORDS_BY_CODE[known ? codeOf(known) : "UNAVAILABLE"];
  const data = {
    ...(reason !== undefined && { reason }),
    ...(id !== undefined && { id }),
    ...(details !== undefined && { details }),
  };
  return new GatewayRefusal(code, `${words}: ${message}`, data);
}
