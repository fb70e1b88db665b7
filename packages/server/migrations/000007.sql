-- Daily caps of API keys (D25). The write that accepts a submission also reserves its share, so a crash leaks nothing.
-- A day is a day of UTC by the database's clock.

-- The amounts that a key has reserved in a day, in all (an empty sender) and for each sender. A session that changes
-- the row of a sender holds the key's row, so two sessions cannot deadlock.
create table cap_usage (
  key_id       text   not null,
  day          date   not null,
  sender       bytea  not null,
  transactions bigint not null default 0,
  gas          bigint not null default 0,
  primary key (key_id, day, sender)
);

-- The changes by the outcomes of submissions. The next write of the key adds them up, under the lock of the key's row,
-- so a lane that finishes submissions never waits.
create table cap_outcomes (
  key_id       text   not null,
  day          date   not null,
  sender       bytea  not null,
  transactions bigint not null,
  gas          bigint not null
);
create index cap_outcomes_of_key on cap_outcomes (key_id, day);

-- The day and the gas of the reservation; null without a cap.
alter table unfinished
  add column cap_day date,
  add column cap_gas bigint,
  add check ((cap_day is null) = (cap_gas is null));

-- Every submission leaves this table when it ends, so that this trigger sees each end. A submission in a block has used
-- its gas; any other gives its reservation back.
create function settle_cap() returns trigger language plpgsql as $$
declare
  used bigint := (select f.gas_used from finished f where f.id = old.id and f.state = 'included');
begin
  insert into cap_outcomes (key_id, day, sender, transactions, gas)
  values (old.key_id, old.cap_day, old.sender, case when used is null then -1 else 0 end,
          coalesce(used, 0) - old.cap_gas);
  return null;
end $$;
create trigger settle_cap after delete on unfinished
  for each row when (old.cap_day is not null) execute function settle_cap();

-- accept() for one key with caps; null is no cap. It keeps the new submissions that fit, in the order of the request,
-- and returns for each of the others the cap that has no room and the amount in use.
create function accept_capped(the_key text, key_transactions bigint, key_gas bigint, sender_transactions bigint,
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
    update cap_usage c set transactions = c.transactions + s.transactions, gas = c.gas + s.gas
    from sums s where c.key_id = the_key and c.day = today and c.sender = s.sender
  )
  select all_used.transactions + coalesce(sum(s.transactions), 0), all_used.gas + coalesce(sum(s.gas), 0)
  into all_used.transactions, all_used.gas from sums s;

  for applicant in
    select u.id, u.waiver, u.sender, u.cap_day, a.gas
    from unnest(ids, gases) with ordinality as a (id, gas, place) join unfinished u on u.id = a.id order by a.place
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
