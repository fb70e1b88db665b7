import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import type { Chain } from "../chain/chain.js";
import type { GoBack } from "../chain/goBack.js";
import { inNamespaces, type Methods } from "../rpc/method.js";
import { address, bytes, quantity, uint64 } from "../rpc/params.js";
import { type AccountRecord, EMPTY_ACCOUNT } from "../state/reader.js";
import { wordHex } from "../state/word.js";

const MAX_BALANCE = 2n ** 256n - 1n;

/**
 * Methods that change the state without a transaction. Reads of the latest block see the change at once, and the next
 * block's state root commits to it.
 */
export function statePatchMethods(chain: Chain, goBack: GoBack): Methods {
  const account = (value: unknown) => bytesToHex(address(value));
  const change = (target: Hex, changed: (before: AccountRecord) => Partial<AccountRecord>) =>
    chain.patch((state) => {
      const before = state.account(target) ?? EMPTY_ACCOUNT;
      state.setAccount(target, { ...before, ...changed(before) });
    });
  return {
    ...inNamespaces(["anvil", "hardhat"], {
      setBalance: async ([target, wei]) => {
        const [holder, balance] = [account(target), quantity(wei, "balance")];
        await change(holder, () => ({ balance }));
        return null;
      },
      setNonce: async ([target, value]) => {
        const [holder, nonce] = [account(target), uint64(value, "nonce")];
        const before = chain.state.account(holder)?.nonce ?? 0n;
        const set = async () => {
          await change(holder, () => ({ nonce }));
          return true;
        };
        await (nonce < before ? goBack(set) : set());
        return null;
      },
      setCode: async ([target, value]) => {
        const [holder, code] = [account(target), bytes(value, "code")];
        await chain.patch((state) => state.setCode(holder, code));
        return null;
      },
      setStorageAt: async ([target, slot, value]) => {
        const holder = account(target);
        const key = wordHex(quantity(slot, "slot"));
        const word = bytes(value, "value", 32);
        await chain.patch((state) => {
          // A state root commits to storage through its account, so there has to be one.
          if (state.account(holder) === undefined) state.setAccount(holder, EMPTY_ACCOUNT);
          state.setSlot(holder, key, word);
        });
        return true;
      },
    }),
    anvil_addBalance: async ([target, amount]) => {
      const wei = quantity(amount, "the amount");
      await change(account(target), ({ balance }) => {
        const sum = balance + wei;
        return { balance: sum > MAX_BALANCE ? MAX_BALANCE : sum };
      });
      return null;
    },
  };
}
