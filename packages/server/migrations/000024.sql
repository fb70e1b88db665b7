-- Accepts submissions under daily caps at a cost that does not grow with the senders that the key has had in the day, and
-- in a fixed number of statements where the whole group fits. Rows are looked up by their keys, with "offset 0" and "on
-- conflict": a join, whose plan was made while the tables were small, read all senders of the day for each submission.

create or replace function accept_capped(the_key text, key_transactions bigint, key_gas bigint, sender_transactions bigint,
                              sender_gas bigint, gases bigint[], the_chain integer, the_origin uuid, ids uuid[],
                              inner_hashes bytea[], inner_raws bytea[], senders bytea[], nonces numeric[],
                              targets bytea[], selectors bytea[], waivers bytea[])
returns table (id uuid, waiver bytea, cap text, used bigint, day_ends timestamptz) language plpgsql as $$
#variable_conflict use_column
declare
  today     date;
  all_used  cap_usage;
  its_used  cap_usage;
  applicant record;
  group_transactions bigint;
  group_gas bigint;
  fits boolean;
begin
  perform from accept(the_chain, the_origin, ids, array_fill(the_key, array[cardinality(ids)]), inner_hashes,
                      inner_raws, senders, nonces, targets, selectors, waivers);
  -- Locks the key's row only now, so that a session that holds it waits for no other submission.
  today := (clock_timestamp() at time zone 'UTC')::date;
  day_ends := (today + 1)::timestamp at time zone 'UTC';
  insert into cap_usage (key_id, day, sender) values (the_key, today, '') on conflict do nothing;
  select c.* into all_used from cap_usage c
  where c.key_id = the_key and c.day = today and c.sender = '' for update;
  with ended as (
    delete from cap_outcomes o where o.key_id = the_key and o.day = today returning o.sender, o.transactions, o.gas
  ), sums as (
    select e.sender, sum(e.transactions) as transactions, sum(e.gas) as gas from ended e group by e.sender
  ), of_senders as (
    insert into cap_usage as c (key_id, day, sender, transactions, gas)
    select the_key, today, s.sender, s.transactions, s.gas from sums s
    on conflict (key_id, day, sender)
      do update set transactions = c.transactions + excluded.transactions, gas = c.gas + excluded.gas
  )
  select all_used.transactions + coalesce(sum(s.transactions), 0), all_used.gas + coalesce(sum(s.gas), 0)
  into all_used.transactions, all_used.gas from sums s;

  -- Usually the whole group fits under all caps, and so each of it does. It takes a few statements then, not three for each.
  with added as (
    select u.sender, a.gas from unnest(ids, gases) as a (id, gas) cross join lateral (
      select u.sender, u.cap_day from unfinished u where u.id = a.id offset 0
    ) u where u.cap_day is null
  ), of_senders as (
    select a.sender, count(*) as transactions, sum(a.gas) as gas from added a group by a.sender
  )
  select coalesce(sum(s.transactions), 0), coalesce(sum(s.gas), 0),
    coalesce(bool_and(coalesce(coalesce(c.transactions, 0) + s.transactions <= sender_transactions, true)
                      and coalesce(coalesce(c.gas, 0) + s.gas <= sender_gas, true)), true)
  into group_transactions, group_gas, fits
  from of_senders s
  left join lateral (
    select c.transactions, c.gas from cap_usage c
    where c.key_id = the_key and c.day = today and c.sender = s.sender offset 0
  ) c on true;
  if fits and coalesce(all_used.transactions + group_transactions <= key_transactions, true)
          and coalesce(all_used.gas + group_gas <= key_gas, true) then
    insert into cap_usage as c (key_id, day, sender, transactions, gas)
    select the_key, today, u.sender, count(*), sum(a.gas)
    from unnest(ids, gases) as a (id, gas) cross join lateral (
      select u.sender, u.cap_day from unfinished u where u.id = a.id offset 0
    ) u where u.cap_day is null group by u.sender
    on conflict (key_id, day, sender)
      do update set transactions = c.transactions + excluded.transactions, gas = c.gas + excluded.gas;
    update unfinished u set cap_day = today, cap_gas = gases[array_position(ids, u.id)]
    where u.id = any (ids) and u.cap_day is null;
    update cap_usage c
    set transactions = all_used.transactions + group_transactions, gas = all_used.gas + group_gas
    where c.key_id = the_key and c.day = today and c.sender = '';
    return query
      select u.id, u.waiver, null::text, null::bigint, day_ends
      from unnest(ids) with ordinality as a (id, place) cross join lateral (
        select u.id, u.waiver from unfinished u where u.id = a.id offset 0
      ) u order by a.place;
    return;
  end if;

  for applicant in
    select u.id, u.waiver, u.sender, u.cap_day, a.gas
    from unnest(ids, gases) with ordinality as a (id, gas, place) cross join lateral (
      select u.id, u.waiver, u.sender, u.cap_day from unfinished u where u.id = a.id offset 0
    ) u order by a.place
  loop
    id := applicant.id;
    waiver := applicant.waiver;
    cap := null;
    used := null;
    -- A write that is repeated because its answer was lost finds what it reserved.
    if applicant.cap_day is null then
      select c.* into its_used from cap_usage c
      where c.key_id = the_key and c.day = today and c.sender = applicant.sender;
      if all_used.transactions + 1 > key_transactions then
        cap := 'transactions';
        used := all_used.transactions;
      elsif all_used.gas + applicant.gas > key_gas then
        cap := 'gas';
        used := all_used.gas;
      elsif coalesce(its_used.transactions, 0) + 1 > sender_transactions then
        cap := 'senderTransactions';
        used := coalesce(its_used.transactions, 0);
      elsif coalesce(its_used.gas, 0) + applicant.gas > sender_gas then
        cap := 'senderGas';
        used := coalesce(its_used.gas, 0);
      end if;
      if cap is null then
        all_used.transactions := all_used.transactions + 1;
        all_used.gas := all_used.gas + applicant.gas;
        insert into cap_usage as c (key_id, day, sender, transactions, gas)
        values (the_key, today, applicant.sender, 1, applicant.gas)
        on conflict (key_id, day, sender)
          do update set transactions = c.transactions + 1, gas = c.gas + excluded.gas;
        update unfinished u set cap_day = today, cap_gas = applicant.gas where u.id = applicant.id;
      else
        delete from unfinished u where u.id = applicant.id;
      end if;
    end if;
    return next;
  end loop;
  update cap_usage c set transactions = all_used.transactions, gas = all_used.gas
  where c.key_id = the_key and c.day = today and c.sender = '';
end $$;
