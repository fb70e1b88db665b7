import { WalletCallsError } from "../errors.js";

/** A `wallet_sendCalls` (EIP-5792) that has been read. */
export interface CallRequest {
  /** The page's own name of the bundle. */
  readonly id: string | undefined;
  readonly from: string | undefined;
  readonly calls: readonly { readonly to?: string; readonly data?: string; readonly value?: string }[];
}

const QUANTITY = /^0x(?:0|[1-9a-f][0-9a-f]*)$/i;
const ADDRESS = /^0x[0-9a-f]{40}$/i;
const BYTES = /^0x(?:[0-9a-f]{2})*$/i;
/** EIP-5792: an id has at most 4096 bytes, as hex. */
const MAX_ID_LENGTH = 8194;
/** The user confirms each call. */
const MAX_CALLS = 100;

/**
 * Reads the parameters of `wallet_sendCalls`.
 * @param chainId the only chain that is served.
 * @throws WalletCallsError with the code of EIP-5792.
 */
export function readCallRequest(params: unknown, chainId: string): CallRequest {
  const request = Object(Array.isArray(params) ? params[0] : undefined) as Record<string, unknown>;
  const { calls, capabilities, atomicRequired = false, id, from } = request;
  const isRead =
    typeof request.version === "string" &&
    typeof atomicRequired === "boolean" &&
    isText(request.chainId, QUANTITY) &&
    (id === undefined || (typeof id === "string" && id.length <= MAX_ID_LENGTH)) &&
    (from === undefined || isText(from, ADDRESS)) &&
    Array.isArray(calls) &&
    calls.length > 0 &&
    calls.every(isCall);
  if (!isRead) throw new WalletCallsError(-32602, "the parameters are not those of wallet_sendCalls");
  if (String(request.chainId).toLowerCase() !== chainId)
    throw new WalletCallsError(5710, `only the chain ${chainId} is gasless here`);
  assertMetCapabilities([capabilities, ...calls.map((call) => call.capabilities)]);
  if (atomicRequired)
    throw new WalletCallsError(5760, "each call is a transaction of its own: they are not atomic");
  if (calls.length > MAX_CALLS) throw new WalletCallsError(5740, `at most ${MAX_CALLS} calls at once`);
  return {
    id: id as string | undefined,
    from: from as string | undefined,
    calls: calls.map(({ to, data, value }) => ({
      ...(to != null && { to }),
      ...(data != null && { data }),
      ...(value != null && { value }),
    })),
  };
}

function isText(value: unknown, form: RegExp): boolean {
  return typeof value === "string" && form.test(value);
}

function isCall(value: unknown): boolean {
  const { to, data, value: amount } = Object(value) as Record<string, unknown>;
  return [[to, ADDRESS] as const, [data, BYTES] as const, [amount, QUANTITY] as const].every(
    ([one, form]) => one == null || isText(one, form),
  );
}

/**
 * Asserts that every capability is met. A page's paymaster service (ERC-7677) is: the gas of all calls is waived, so there is
 * nothing to ask it for. An optional one is ignored.
 */
function assertMetCapabilities(capabilities: readonly unknown[]): void {
  for (const [name, capability] of capabilities.flatMap((one) => Object.entries(Object(one)))) {
    if (name === "paymasterService") continue;
    if ((Object(capability) as { optional?: unknown }).optional === true) continue;
    throw new WalletCallsError(5700, `the capability ${name} is not supported`);
  }
}
