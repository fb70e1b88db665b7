import { type AccountRole, type DevnetAccount, devnetAccounts } from "@gas-waiver/devnet/presets";
import { JsonRpcClient } from "../jsonRpcClient.js";
import { balanceOf, tokenBalanceOf, tokenDecimals } from "./chainReader.js";

/** An account of the devnet, and what it holds now. */
export interface AccountHolding extends DevnetAccount {
  /** In wei. */
  readonly native: bigint;
  /** Test tokens, in the smallest unit. */
  readonly tokens: bigint;
  /** The decimals of the test token. */
  readonly decimals: number;
}

/** Reads what the devnet's accounts hold. */
export async function readHoldings(rpcUrl: string, signal: AbortSignal): Promise<AccountHolding[]> {
  const node = new JsonRpcClient(rpcUrl, signal);
  const decimals = await tokenDecimals(node);
  const holdings: AccountHolding[] = [];
  // One after the other: many requests at once would each add a listener to the signal.
  for (const account of devnetAccounts) {
    const native = await balanceOf(node, account.address);
    const tokens = await tokenBalanceOf(node, account.address);
    holdings.push({ ...account, native, tokens, decimals });
  }
  return holdings;
}

const ROLES: Readonly<Record<AccountRole, string>> = {
  user: "user",
  waiver: "waiver",
  unregisteredWaiver: "unregistered waiver",
  funded: "pays for deployments",
  validator: "validator",
};

/** The accounts as lines for a person. */
export function accountLines(accounts: readonly AccountHolding[]): string[] {
  return [
    "accounts, with private keys that everybody knows: keep nothing of value on them",
    ...accounts.map(({ index, role, address, privateKey, native, tokens, decimals }) => {
      const held = `${inUnits(tokens, decimals)} USDT0, ${inUnits(native)} native`;
      return `  ${String(index).padStart(2)}  ${address}  ${privateKey}  ${ROLES[role]}: ${held}`;
    }),
  ];
}

/** The accounts for programs. Amounts are decimal text in the smallest unit. */
export function accountsJson(accounts: readonly AccountHolding[]) {
  return accounts.map(({ native, tokens, decimals: _, ...account }) => ({
    ...account,
    native: native.toString(),
    tokens: tokens.toString(),
  }));
}

/** An amount in whole units, with separators between thousands and with the decimals that it needs. */
export function inUnits(amount: bigint, decimals = 18): string {
  const unit = 10n ** BigInt(decimals);
  const rest = (amount % unit).toString().padStart(decimals, "0").replace(/0+$/, "");
  return `${(amount / unit).toLocaleString("en-US")}${rest === "" ? "" : `.${rest}`}`;
}
