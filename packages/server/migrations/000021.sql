-- A partition gets this trigger when its day is summarized, so that an outcome that comes later is in the summary too.
create function add_late_outcome() returns trigger language plpgsql as $$
begin
  if new.state = 'included' then
    insert into sender_nonces as n (chain, sender, next, last_day)
    values (new.chain, new.sender, new.sender_nonce + 1, day_of(new.id))
    on conflict (chain, sender) do update
      set next = greatest(n.next, excluded.next), last_day = greatest(n.last_day, excluded.last_day);
    update lanes
    set old_nonce = new.waiver_nonce, old_block_number = new.block_number, old_block_hash = new.block_hash
    where chain = new.chain and waiver = new.waiver and new.waiver_nonce > coalesce(old_nonce, -1);
  end if;
  return null;
end $$;

-- Accepts new submissions (D19), and returns those that it accepted. A refused one has a competitor, unfinished or
-- included: the same InnerTx (D18), or another with its sender's nonce (D20).
create or replace function accept(the_chain integer, the_origin uuid, ids uuid[], key_ids text[], inner_hashes bytea[],
                                  inner_raws bytea[], senders bytea[], nonces numeric[], targets bytea[],
                                  selectors bytea[], waivers bytea[])
returns table (id uuid, waiver bytea) language plpgsql as $$
#variable_conflict use_column
declare
  competitor record;
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
  -- A write that is repeated because its answer was lost finds what it accepted: here what failed, below what is included.
  -- The condition has all columns of each index, so that a plan that was made for an empty partition is a good one later.
  where (select true from finished f
         where f.id = n.id and f.chain = the_chain and f.key_id = n.key_id and f.inner_hash = n.inner_hash
           and f.sender = n.sender and f.state = 'failed' and f.id >= recent_outcomes()) is null
  -- One order for all requests, so that two requests with the same InnerTxs cannot deadlock.
  order by n.sender, n.nonce, n.ordinal
  on conflict do nothing;
  -- A competitor may have moved to finished since the statement above began. A statement of its own sees that, because
  -- it reads what was committed before it.
  for competitor in select f.sender, f.sender_nonce from find_included(the_chain, senders, nonces) f loop
    delete from unfinished u
    where u.chain = the_chain and u.sender = competitor.sender and u.sender_nonce = competitor.sender_nonce
      and u.id = any(ids) and u.state = 'queued';
  end loop;
  return query select u.id, u.waiver from unfinished u where u.id = any(ids);
end $$;

-- Almost all rows that leave `unfinished` are of the recent days.
create or replace function settle_cap() returns trigger language plpgsql as $$
declare
  used bigint;
begin
  if old.id >= recent_outcomes() then
    select f.gas_used into used from finished f
    where f.id = old.id and f.chain = old.chain and f.key_id = old.key_id and f.sender = old.sender
      and f.sender_nonce = old.sender_nonce and f.state = 'included' and f.id >= recent_outcomes();
  else
    select f.gas_used into used from finished f where f.id = old.id and f.state = 'included';
  end if;
  insert into cap_outcomes (key_id, day, sender, transactions, gas)
  values (old.key_id, old.cap_day, old.sender, case when used is null then -1 else 0 end,
          coalesce(used, 0) - old.cap_gas);
  return null;
end $$;
