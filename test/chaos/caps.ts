import type { Finding } from "./ledgers.js";
import type { World } from "./world.js";

/** A day's caps that nothing reaches: what counts is that they are counted. */
export const CAPS = { transactions: 1_000_000_000, gas: "99999999999999", senderTransactions: 1_000_000 };

const COUNTED = `
  with counted as (
    select sender, transactions, gas from cap_usage where key_id = $1
    union all select sender, transactions, gas from cap_outcomes where key_id = $1
    union all select '', transactions, gas from cap_outcomes where key_id = $1
  )
  select encode(sender, 'hex') as sender, sum(transactions)::text as transactions, sum(gas)::text as gas
  from counted group by sender`;

const USED = `
  with used as (select sender, gas_used from finished where key_id = $1 and state = 'included')
  select encode(sender, 'hex') as sender, count(*)::text as transactions, sum(gas_used)::text as gas
  from used group by sender
  union all select '', count(*)::text, coalesce(sum(gas_used), 0)::text from used`;

type Count = Record<"sender" | "transactions" | "gas", string>;

/** When nothing is under way: the key has used what the chain executed for it, no more and no less. */
export async function compareCaps(world: World): Promise<Finding[]> {
  const counted = await world.query<Count>(COUNTED, [world.cappedKeyId]);
  const used = new Map((await world.query<Count>(USED, [world.cappedKeyId])).map((one) => [one.sender, one]));
  return counted.flatMap(({ sender, transactions, gas }): Finding[] => {
    const right = used.get(sender) ?? { transactions: "0", gas: "0" };
    if (transactions === right.transactions && gas === right.gas) return [];
    const whose = sender === "" ? "the key" : `sender 0x${sender}`;
    const what = `${whose} is counted with ${transactions} and ${gas} gas, and has used ${JSON.stringify(right)}`;
    return [{ violation: "miscounted", what }];
  });
}
