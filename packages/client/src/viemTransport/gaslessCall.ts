import {
  type Account,
  type Address,
  type BaseError,
  type Client,
  concat,
  type EncodeFunctionDataParameters,
  encodeFunctionData,
  getContractError,
  type Hex,
  isAddress,
  type LocalAccount,
} from "viem";
import { parseAccount } from "viem/accounts";
import { InvalidArgumentError, UnusableAccountError } from "../errors.js";
import type { GaslessCall, GaslessSender, GaslessTransaction } from "../gasless/gaslessCall.js";
import { assertHonoured } from "../gasless/honoured.js";
import type {
  Payment,
  PreparedGaslessTransaction,
  SendGaslessTransactionParameters,
  WriteGaslessContractParameters,
} from "./parameters.js";
import { type NodeRequest, type SigningAccount, viemSender } from "./viemSender.js";

/** The parameters that a call reads, beside prices and the type. */
const HONOURED = ["account", "to", "data", "value", "gas", "nonce", "chain", "chainId", "dataSuffix"];
/** The parameters that only the actions that send read. */
export const PAYMENT = ["idempotencyKey"];

/** Returns the sender of a call and the call, for {@link Gasless}. */
export function callOf(
  client: Client,
  parameters: SendGaslessTransactionParameters & Payment & { readonly chainId?: number },
  also: readonly string[] = [],
): [GaslessSender, GaslessCall] {
  assertHonoured(parameters, [...HONOURED, ...also]);
  const { account, to, data = "0x", value = 0n, gas, nonce, chain, idempotencyKey } = parameters;
  if (!isAddress(to))
    throw new InvalidArgumentError(
      `to is ${to}, and no address: names are not resolved, and creation is not waived`,
    );
  const suffix = parameters.dataSuffix ?? suffixOf(client);
  const chainId = chain?.id ?? parameters.chainId;
  const call = { to, data: concat([data, suffix]), value, gas, nonce, chainId, idempotencyKey };
  return [senderOf(client, localAccount(account ?? client.account)), call];
}

/** viem has added it to its clients in a minor version. */
function suffixOf({ dataSuffix }: Client & { readonly dataSuffix?: unknown }): Hex {
  return (typeof dataSuffix === "object" ? Object(dataSuffix).value : dataSuffix) ?? "0x";
}

/** Returns the sender and the call of a contract's function. */
export function contractCallOf(
  client: Client,
  parameters: unknown,
  also: readonly string[] = [],
): [GaslessSender, GaslessCall] {
  const { abi, address, functionName, args, ...overrides } = parameters as WriteGaslessContractParameters;
  const data = encodeFunctionData({ abi, functionName, args } as EncodeFunctionDataParameters);
  const [sender, call] = callOf(client, { ...overrides, to: address, data }, also);
  const estimateGas = (one: GaslessCall) =>
    sender.estimateGas(one).catch((error: unknown) => {
      const contractCall = { abi, address, args, functionName, sender: sender.address as Address };
      throw getContractError(error as BaseError, contractCall);
    });
  return [{ ...sender, estimateGas }, call];
}

export function preparedOf(prepared: GaslessTransaction): PreparedGaslessTransaction {
  const { to, data, idempotencyKey: _, ...transaction } = prepared;
  return { ...transaction, to: to as Address, data: data as Hex, type: "legacy", gasPrice: 0n };
}

/**
 * Returns the account as a local one.
 * @throws UnusableAccountError if it cannot sign without sending.
 */
function localAccount(account: Account | Address | null | undefined): LocalAccount {
  if (account === undefined || account === null) {
    throw new UnusableAccountError("the client has no account; give it or the call a local one");
  }
  const parsed = parseAccount(account);
  if (parsed.type === "local") return parsed as LocalAccount;
  throw new UnusableAccountError(
    `the account ${parsed.address} is of type ${parsed.type}: its wallet signs only what it sends itself; ` +
      "use a local account, such as privateKeyToAccount gives",
  );
}

function senderOf(client: Client, account: SigningAccount): GaslessSender {
  return viemSender(client.request as NodeRequest, account, client.chain?.id);
}
