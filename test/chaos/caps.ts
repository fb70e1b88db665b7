import type { Environment } from "./environment.js";
import type { Finding } from "./ledgers.js";

/** Daily caps that the load cannot reach. The run checks that the service counts the usage correctly. */
export const CAPS = { transactions: 1_000_000_000, gas: "99999999999999", senderTransactions: 1_000_000 };

const COUNTED = `
  with counted as (
    select sender, transactions, gas from cap_usage where key_id = $1
    union all select '', transactions, gas from cap_reserved where key_id = $1
    union all select sender, transactions, gas from cap_outcomes where key_id = $1
    union all select '', transactions, gas from cap_outcomes where key_id = $1
  )
  select encode(sender, 'hex') as sender, sum(transactions)::text as transactions, sum(gas)::text as gas
  from counted group by sender`;

const USED = `
  with used as (
    select sender, gas_used from finished where key_id = $1 and state = 'included'
    union all select sender, cap_gas from unfinished where key_id = $1 and cap_day is not null
  )
  select encode(sender, 'hex') as sender, count(*)::text as transactions, sum(gas_used)::text as gas
  from used group by sender
  union all select '', count(*)::text, coalesce(sum(gas_used), 0)::text from used`;

type Count = Record<"sender" | "transactions" | "gas", string>;

/**
 * Compares the key's counted usage with its included submissions in the store and the reservations of what is unfinished.
 * Call it when no submission is about to finish.
 */
export async function compareCaps(environment: Environment): Promise<Finding[]> {
  const counted = await environment.query<Count>(COUNTED, [environment.cappedKeyId]);
  const used = new Map(
    (await environment.query<Count>(USED, [environment.cappedKeyId])).map((one) => [one.sender, one]),
  );
  return counted.flatMap(({ sender, transactions, gas }): Finding[] => {
    const expected = used.get(sender) ?? { transactions: "0", gas: "0" };
    if (transactions === expected.transactions && gas === expected.gas) return [];
    const holder = sender === "" ? "the key" : `sender 0x${sender}`;
    const text = `${holder} is counted with ${transactions} and ${gas} gas, and has used ${JSON.stringify(expected)}`;
    return [{ violation: "miscounted", text }];
  });
}
