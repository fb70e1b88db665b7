-- Outcomes live in partitions, one for each day (UTC) of acceptance: a UUIDv7 begins with its time, so a day is a range of
-- ids. Old days are dropped whole. The table before becomes the first partition, with all ids below a bound that its rows
-- and those of the next days are below. In a new store the bound is today.
do $$
declare
  bound date := (now() at time zone 'UTC')::date;
  newest text;
begin
  if exists (select from pg_constraint where conname = 'finished_first_bound') then
    return;
  end if;
  lock table finished in access exclusive mode;
  if exists (select from chains) then
    select replace(id::text, '-', '') into newest from finished order by id desc limit 1;
    bound := greatest(bound + 8, coalesce((to_timestamp(('x' || left(newest, 12))::bit(48)::bigint / 1000)
                                            at time zone 'UTC')::date + 1, bound));
  end if;
  execute format('alter table finished add constraint finished_first_bound check (id < %L) not valid',
                 (lpad(to_hex(extract(epoch from bound)::bigint * 1000), 12, '0') || repeat('0', 20))::uuid);
end $$;

-- then
-- Reads the whole table, and locks nobody out.
alter table finished validate constraint finished_first_bound;

-- then
-- The highest waiver nonce of the lane among the summarized days (below), and its block.
alter table lanes
  add column if not exists old_nonce        bigint,
  add column if not exists old_block_number bigint,
  add column if not exists old_block_hash   bytea;

-- then
lock table submissions in access exclusive mode;
alter table finished rename to finished_first;
create table finished (like finished_first including defaults including constraints) partition by range (id);
alter table finished drop constraint finished_first_bound;

-- The partitions of `finished`. A day is summarized some days after its end; from then on only look-ups by id and the rare
-- searches of all days read it. Days are summarized in their order.
create table finished_days (
  -- The day of its ids; of `finished_first`, the last one.
  day           date        primary key,
  partition     text        not null unique,
  first_id      uuid        not null,
  end_id        uuid        not null,
  summarized_at timestamptz,
  -- The time at which it was decided to drop the partition. No new submission gets an id of a closed day.
  closed_at     timestamptz
);

-- The days whose outcomes have been exported completely.
create table exports (
  partition_day date        primary key,
  exported_at   timestamptz not null default now(),
  rows          bigint      not null
);

-- The nonce above the highest that a sender's included submissions have in the summarized days. Whether a nonce was used long
-- ago is one look here, instead of one in each partition.
create table sender_nonces (
  chain    integer     not null,
  sender   bytea       not null,
  next     numeric(20) not null,
  -- The last day in which it has one.
  last_day date        not null,
  primary key (chain, sender)
);

-- The lowest id of a day.
create function first_id_of(the_day date) returns uuid language sql immutable strict as $$
  select (lpad(to_hex(extract(epoch from the_day)::bigint * 1000), 12, '0') || repeat('0', 20))::uuid
$$;

-- The ids that some partition takes, and that new submissions may have.
create table finished_range (first_id uuid not null, end_id uuid not null);

create function day_of(id uuid) returns date language sql immutable strict as $$
  select (to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000) at time zone 'UTC')::date
$$;

do $$
declare
  bound uuid := (select substring(pg_get_constraintdef(oid) from '[0-9a-f]{8}-[0-9a-f-]{27}')::uuid from pg_constraint
                 where conrelid = 'finished_first'::regclass and conname = 'finished_first_bound');
begin
  -- The constraint proves that the rows fit, so that attaching reads none.
  execute format('alter table finished attach partition finished_first for values from (minvalue) to (%L)', bound);
  insert into finished_days (day, partition, first_id, end_id)
  values (day_of(bound) - 1, 'finished_first', '00000000-0000-0000-0000-000000000000', bound);
  insert into finished_range (first_id, end_id) values ('00000000-0000-0000-0000-000000000000', bound);
end $$;
alter table finished_first drop constraint finished_first_bound;

-- Makes one partition for some days. It is attached empty, under a lock that neither reading nor writing waits for. Indexes
-- belong to the partitions, so that the first one keeps those that it has.
create function create_finished_partition(first_day date, last_day date) returns void language plpgsql as $$
declare
  name text := 'finished_' || to_char(last_day, 'YYYYMMDD');
begin
  execute format($sql$
    create table %1$I (like finished including defaults including constraints, primary key (id));
    -- D18: an included InnerTx is found by its sender and nonce.
    create unique index %2$I on %1$I (chain, sender, sender_nonce) where state = 'included';
    create index %3$I on %1$I (chain, waiver, waiver_nonce) where waiver_nonce is not null;
    create index %4$I on %1$I (chain, key_id, state, id);
    create index %5$I on %1$I using hash (inner_hash) where state = 'included';
    create index %6$I on %1$I (chain, key_id, inner_hash, id) where state = 'failed';
    create index %7$I on %1$I (chain, key_id, sender, id) where state = 'failed';
    alter table finished attach partition %1$I for values from (%8$L) to (%9$L)
  $sql$, name, name || '_by_sender', name || '_by_waiver_nonce', name || '_by_key', name || '_by_inner',
    name || '_failed_by_inner', name || '_failed_by_sender', first_id_of(first_day), first_id_of(last_day + 1));
  insert into finished_days (day, partition, first_id, end_id)
  values (last_day, name, first_id_of(first_day), first_id_of(last_day + 1));
  update finished_range set end_id = first_id_of(last_day + 1);
end $$;

-- Makes the partitions that are missing up to today and some days ahead. Days that are over, in which no service ran, share
-- one. Returns the number of partitions that it made.
create function create_finished_days(days_ahead integer) returns integer language plpgsql as $$
declare
  today date := (now() at time zone 'UTC')::date;
  next  date := (select day_of(end_id) from finished_range);
  made  integer := 0;
begin
  if next < today then
    perform create_finished_partition(next, today - 1);
    next := today;
    made := 1;
  end if;
  while next <= today + days_ahead loop
    perform create_finished_partition(next, next);
    next := next + 1;
    made := made + 1;
  end loop;
  return made;
end $$;

-- The lowest id of the days that are not summarized. The planner reads only their partitions where a query asks for ids from
-- this one on. It is declared immutable for that, and is replaced when a day has been summarized (set_recent_outcomes): it
-- only ever goes up, so a plan with an earlier value reads more than it must, and misses nothing.
create function recent_outcomes() returns uuid language sql immutable parallel safe as $$
  select '00000000-0000-0000-0000-000000000000'::uuid
$$;
create function set_recent_outcomes(first_id uuid) returns void language plpgsql as $$
begin
  execute format('create or replace function recent_outcomes() returns uuid language sql immutable parallel safe as %L',
                 format('select %L::uuid', first_id));
end $$;

-- Finds the finished submissions that used nonces of senders (D18), of which there is at most one for each.
create function find_included(the_chain integer, senders bytea[], nonces numeric[])
returns table (id uuid, sender bytea, sender_nonce numeric, inner_hash bytea) language plpgsql rows 1 as $$
#variable_conflict use_column
begin
  return query
    select f.id, f.sender, f.sender_nonce, f.inner_hash from unnest(senders, nonces) a (sender, nonce)
    join finished f on f.chain = the_chain and f.sender = a.sender and f.sender_nonce = a.nonce
      and f.state = 'included' and f.id >= recent_outcomes();
  if exists (select from unnest(senders, nonces) a (sender, nonce)
             join sender_nonces n on n.chain = the_chain and n.sender = a.sender and n.next > a.nonce) then
    return query
      select f.id, f.sender, f.sender_nonce, f.inner_hash from unnest(senders, nonces) a (sender, nonce)
      join finished f on f.chain = the_chain and f.sender = a.sender and f.sender_nonce = a.nonce
        and f.state = 'included' and f.id < recent_outcomes();
  end if;
end $$;

-- Accepts new submissions (D19), and returns those that it accepted. A refused one has a competitor, unfinished or
-- included: the same InnerTx (D18), or another with its sender's nonce (D20).
create or replace function accept(the_chain integer, the_origin uuid, ids uuid[], key_ids text[], inner_hashes bytea[],
                                  inner_raws bytea[], senders bytea[], nonces numeric[], targets bytea[],
                                  selectors bytea[], waivers bytea[])
returns table (id uuid, waiver bytea) language plpgsql as $$
#variable_conflict use_column
begin
  -- Every outcome has to find its partition, whatever the clock of the replica that made the id.
  if exists (select from finished_range r where not (r.first_id <= all (ids) and r.end_id > all (ids))) then
    raise exception 'the store keeps no outcomes of the time of an id'
      using errcode = 'GW001', hint = 'compare the clock of the service with the clock of the database';
  end if;
  insert into unfinished (chain, origin, id, key_id, inner_hash, inner_raw, sender, sender_nonce, target, selector,
                          waiver, place, look_at)
  select the_chain, the_origin, n.id, n.key_id, n.inner_hash, n.inner_raw, n.sender, n.nonce, n.target, n.selector,
         -- A sender with unfinished submissions stays in their lane.
         coalesce(case when p.state <> 'included' then p.waiver end, (
           select u.waiver from unfinished u
           where u.chain = the_chain and u.sender = n.sender and u.state <> 'included'
           order by u.sender_nonce desc limit 1
         ), n.waiver), t.place, t.place
  from (
    select *, min(nonce) over (partition by sender) as lowest
    from unnest(ids, key_ids, inner_hashes, inner_raws, senders, nonces, targets, selectors, waivers) with ordinality
      as u (id, key_id, inner_hash, inner_raw, sender, nonce, target, selector, waiver, ordinal)
  ) n left join lateral (
    select u.waiver, u.sender_nonce, u.state, u.place from unfinished u
    where u.chain = the_chain and u.sender = n.sender and u.sender_nonce < n.nonce
    order by u.sender_nonce desc limit 1
  ) p on true
  -- Each nonce of a sender has its place 10 ms behind the nonce before, so that another sender's goes ahead of a long row
  -- of them. No place is more than a minute away, so that none waits for ever.
  cross join lateral (
    select greatest(now(), least(
      now() + interval '1 minute',
      coalesce(p.place, now())
        + interval '10 milliseconds' * least(6000, n.nonce - coalesce(p.sender_nonce, n.lowest))::integer)) as place
  ) t
  -- A write that is repeated because its answer was lost finds what it accepted.
  where (select true from finished f where f.id = n.id and f.id >= recent_outcomes()) is null
  -- One order for all requests, so that two requests with the same InnerTxs cannot deadlock.
  order by n.sender, n.nonce, n.ordinal
  on conflict do nothing;
  -- A competitor may have moved to finished since the statement above began. A statement of its own sees that, because
  -- it reads what was committed before it.
  delete from unfinished u using find_included(the_chain, senders, nonces) f
  where u.chain = the_chain and u.sender = f.sender and u.sender_nonce = f.sender_nonce and u.id = any(ids)
    and u.state = 'queued';
  return query select u.id, u.waiver from unfinished u where u.id = any(ids);
end $$;

-- Almost all rows that leave `unfinished` are of the recent days.
create or replace function settle_cap() returns trigger language plpgsql as $$
declare
  used bigint;
begin
  if old.id >= recent_outcomes() then
    select f.gas_used into used from finished f
    where f.id = old.id and f.id >= recent_outcomes() and f.state = 'included';
  else
    select f.gas_used into used from finished f where f.id = old.id and f.state = 'included';
  end if;
  insert into cap_outcomes (key_id, day, sender, transactions, gas)
  values (old.key_id, old.cap_day, old.sender, case when used is null then -1 else 0 end,
          coalesce(used, 0) - old.cap_gas);
  return null;
end $$;

-- Reads the new table.
create or replace view submissions as
select id, chain, key_id, state, inner_hash, sender, sender_nonce, target, selector,
       coalesce(carrier_waiver, waiver) as waiver, coalesce(carrier_nonce, waiver_nonce) as waiver_nonce, signings,
       coalesce(carrier_hash, wrapper_hash) as wrapper_hash, block_number, block_hash, gas_used, reverted,
       null::text as error_reason,
       null::text as error_message, accepted_at, signed_at, broadcast_at, included_at,
       null::timestamptz as finished_at, null::json as error_details
from unfinished
union all
select id, chain, key_id, state, inner_hash, sender, sender_nonce, target, selector, waiver, waiver_nonce, signings,
       wrapper_hash, block_number, block_hash, gas_used, reverted, error_reason,
       error_message, accepted_at, signed_at, broadcast_at, included_at,
       finished_at, error_details
from finished;
