import { toHex } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import {
  accountsOf,
  DEVNET_MNEMONIC,
  devnetAccount,
  devnetAccounts,
  UnknownAccountError,
} from "./accounts.js";

describe("the devnet's accounts", () => {
  it("are those of the public mnemonic", () => {
    for (const { index, address, privateKey } of devnetAccounts) {
      const derived = mnemonicToAccount(DEVNET_MNEMONIC, { addressIndex: index });
      expect(address).toBe(derived.address);
      expect(privateKey).toBe(toHex(derived.getHdKey().privateKey ?? new Uint8Array()));
    }
  });

  it("have the roles that genesis gives them", () => {
    const indices = (role: Parameters<typeof accountsOf>[0]) => accountsOf(role).map(({ index }) => index);
    expect(indices("user")).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(indices("waiver")).toEqual([10, 11]);
    expect(indices("unregisteredWaiver")).toEqual([12]);
    expect(indices("funded")).toEqual([13]);
    expect(indices("validator")).toEqual([20, 21, 22, 23]);
  });

  it("do not include other indices", () => {
    expect(() => devnetAccount(14)).toThrow(UnknownAccountError);
  });
});
