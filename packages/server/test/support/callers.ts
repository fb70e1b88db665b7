import { unknownKey } from "../../src/keys/cachedKey.js";
import { type Caller, limitsOfService } from "../../src/model/caller.js";
import { resolveOptions } from "../../src/model/resolveOptions.js";
import { optionsFor } from "./testService.js";

/** What the keys of a test's service may do: nothing is in their way. */
export const LIMITS = limitsOfService(
  resolveOptions(optionsFor("postgres://localhost/store", "http://localhost")),
);

/** A caller of a test's own, without scope and caps unless told otherwise. */
export function callerOf(keyId: string, changes: Partial<Caller> = {}): Caller {
  return { keyId, limits: LIMITS, allowedTargets: undefined, caps: undefined, ...changes };
}

/** A key directory without keys. */
export const NO_KEYS = {
  authenticate(): never {
    throw unknownKey();
  },
};
