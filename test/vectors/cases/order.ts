// D7: "The first failing check is named in the error." In each case two checks fail, and the earlier one is named.
import { type Changes, refused, refusedByBoth, refusedByChain, type VectorCase } from "../case.js";
import { accounts, type Registry, registry, USER, WAIVER, withCode } from "../state.js";
import { type Edit, highS, set } from "../transaction.js";

interface Break {
  readonly check: string;
  readonly reason: string;
  readonly cause?: string;
  readonly inner?: Changes;
  readonly wrapper?: Changes;
  readonly registry?: Registry;
  /** The code of the user's account. */
  readonly code?: string;
  readonly nonces?: Readonly<Record<number, bigint>>;
  /** The position of the check in the service's order (D3), if the service has it. */
  readonly inService?: number;
}

/** Changes in the order of D7. Each breaks its own check and no earlier one. */
const BREAKS: readonly Break[] = [
  {
    check: "wrapper decodes",
    reason: "WRAPPER_INVALID",
    cause: "HIGH_S_SIGNATURE",
    wrapper: { edit: highS },
  },
  { check: "wrapper signature", reason: "WRAPPER_WRONG_CHAIN_ID", wrapper: { chainId: 1n } },
  { check: "waiver registered", reason: "WAIVER_NOT_REGISTERED", registry: {} },
  { check: "wrapper gas price", reason: "WRAPPER_NON_ZERO_GAS_PRICE", wrapper: { gasPrice: 1n } },
  { check: "wrapper value", reason: "WRAPPER_NON_ZERO_VALUE", wrapper: { value: 1n } },
  { check: "inner decodes", reason: "NON_CANONICAL_RLP", inner: { edit: set("s", "0x0001") }, inService: 1 },
  { check: "inner gas price", reason: "NON_ZERO_GAS_PRICE", inner: { gasPrice: 1n }, inService: 3 },
  { check: "inner chain id", reason: "WRONG_CHAIN_ID", inner: { chainId: 1n }, inService: 2 },
  { check: "target and selector", reason: "TARGET_NOT_ALLOWED", registry: registry([]), inService: 5 },
  { check: "inner signature", reason: "INVALID_SIGNATURE", inner: { edit: set("r", "0x05") }, inService: 6 },
  {
    check: "wrapper nonce",
    reason: "WRAPPER_NONCE_TOO_LOW",
    nonces: { [WAIVER]: 4n },
  },
  { check: "inner nonce", reason: "NONCE_TOO_LOW", nonces: { [USER]: 3n } },
  { check: "sender code", reason: "SENDER_IS_CONTRACT", code: "0xfe" },
  { check: "inner value", reason: "INSUFFICIENT_BALANCE", inner: { value: 1n } },
  { check: "wrapper gas limit", reason: "WRAPPER_GAS_LIMIT_TOO_LOW", wrapper: { gasLimit: 100_000n } },
];

/** The names of the checks, in the order of D7. */
export const CHECKS: readonly string[] = BREAKS.map(({ check }) => check);

function situationOf(one: Break, two: Break) {
  const edit: Edit = (items, fields) => {
    const once = one.inner?.edit?.(items, fields) ?? items;
    return two.inner?.edit?.(once, fields) ?? once;
  };
  const nonces = { [USER]: 2n, [WAIVER]: 3n, ...two.nonces, ...one.nonces };
  return {
    name: `${one.check} before ${two.check}`,
    clause: "D7",
    registry: one.registry ?? two.registry ?? registry(),
    accounts: withCode(accounts({}, nonces), one.code ?? two.code),
    inner: { ...two.inner, ...one.inner, edit },
    wrapper: { ...two.wrapper, ...one.wrapper },
  };
}

function pair(one: Break, two: Break): VectorCase {
  const situation = situationOf(one, two);
  if (one.inService === undefined && two.inService === undefined) {
    return (one.wrapper ?? one.registry)
      ? refused(situation, one.check, one.reason, one.cause)
      : refusedByChain(situation, one.check, one.reason);
  }
  if (one.registry !== undefined && Object.keys(one.registry).length === 0) {
    return refused(situation, one.check, one.reason, one.cause);
  }
  // The service names the failing check that is first in its own order (D3).
  const [first] = [one, two]
    .filter(({ inService }) => inService !== undefined)
    .sort((a, b) => (a.inService ?? 0) - (b.inService ?? 0));
  const { service } = refusedByBoth(situation, one.check, first?.reason ?? "");
  const validators = refused(situation, one.check, one.reason, one.cause);
  return service === undefined ? validators : { ...validators, service };
}

export const orderCases = (): VectorCase[] =>
  BREAKS.flatMap((one, i) => BREAKS.slice(i + 1).map((two) => pair(one, two)));
