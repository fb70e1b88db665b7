-- Takes in the outcomes of a key's submissions, and returns the sums. The caller holds the row of the key.
create function take_cap_outcomes(the_key text, today date, out transactions bigint, out gas bigint) language sql as $$
  with ended as (
    delete from cap_outcomes o where o.key_id = the_key and o.day = today returning o.sender, o.transactions, o.gas
  ), sums as (
    select e.sender, sum(e.transactions)::bigint as transactions, sum(e.gas)::bigint as gas from ended e group by e.sender
  ), of_senders as (
    insert into cap_usage as c (key_id, day, sender, transactions, gas)
    select the_key, today, s.sender, s.transactions, s.gas from sums s
    on conflict (key_id, day, sender)
      do update set transactions = c.transactions + excluded.transactions, gas = c.gas + excluded.gas
  )
  select coalesce(sum(s.transactions), 0)::bigint, coalesce(sum(s.gas), 0)::bigint from sums s
$$;
