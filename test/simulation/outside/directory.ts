import type { Hex } from "@gas-waiver/protocol";
import type { Directory } from "../behaviours/matcher.js";
import { readWrapper, type Wrapper } from "../chain/wrapper.js";
import { addressOf } from "../users/users.js";

/** Knows the users, and every wrapper that ever came to an endpoint. */
export function createDirectory(users: number): Directory {
  const numbers = new Map(Array.from({ length: users }, (_, i) => [addressOf(i + 1), i + 1]));
  const byHash = new Map<Hex, Wrapper>();
  const first = new Map<Hex, Hex>();
  return {
    userAt: (address) => numbers.get(address),
    wrapperOf: (hash) => byHash.get(hash) ?? byHash.get(first.get(hash) ?? "0x"),
    firstWrapperOf: (innerHash) => first.get(innerHash),
    read(raw) {
      try {
        const wrapper = readWrapper(raw as Hex);
        byHash.set(wrapper.hash, wrapper);
        if (!first.has(wrapper.innerHash)) first.set(wrapper.innerHash, wrapper.hash);
        return wrapper;
      } catch {
        return undefined;
      }
    },
  };
}
