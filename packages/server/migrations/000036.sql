-- Each row is looked up by itself ("offset 0"). A join that was planned while a table had few rows, or none, reads all of it in each
-- call later, until PostgreSQL counts the table again.

-- Tells whether an included outcome has one of these nonces (D18, D20). Its conditions are those of find_included(). It is volatile,
-- so that it sees what was committed before it, and not only what its caller sees.
create function has_included(the_chain integer, senders bytea[], nonces numeric[]) returns boolean language plpgsql as $$
begin
  return exists (
      select from unnest(senders, nonces) a (sender, nonce) cross join lateral (
        select from finished f
        where f.chain = the_chain and f.sender = a.sender and f.sender_nonce = a.nonce
          and f.state = 'included' and f.id >= recent_outcomes() offset 0
      ) f)
    or is_summarized(the_chain, senders, nonces);
end $$;

-- Tells whether one of these nonces is below the next one of its sender in the summarized days.
create function is_summarized(the_chain integer, senders bytea[], nonces numeric[]) returns boolean language plpgsql as $$
begin
  return exists (
    select from unnest(senders, nonces) a (sender, nonce) cross join lateral (
      select from sender_nonces n where n.chain = the_chain and n.sender = a.sender and n.next > a.nonce offset 0
    ) n);
end $$;

-- Finds the finished submissions that used nonces of senders (D18), of which there is at most one for each.
create or replace function find_included(the_chain integer, senders bytea[], nonces numeric[])
returns table (id uuid, sender bytea, sender_nonce numeric, inner_hash bytea) language plpgsql rows 1 as $$
#variable_conflict use_column
begin
  return query
    select f.id, f.sender, f.sender_nonce, f.inner_hash from unnest(senders, nonces) a (sender, nonce)
    cross join lateral (
      select f.id, f.sender, f.sender_nonce, f.inner_hash from finished f
      where f.chain = the_chain and f.sender = a.sender and f.sender_nonce = a.nonce
        and f.state = 'included' and f.id >= recent_outcomes() offset 0
    ) f;
  if is_summarized(the_chain, senders, nonces) then
    return query
      select f.id, f.sender, f.sender_nonce, f.inner_hash from unnest(senders, nonces) a (sender, nonce)
      cross join lateral (
        select f.id, f.sender, f.sender_nonce, f.inner_hash from finished f
        where f.chain = the_chain and f.sender = a.sender and f.sender_nonce = a.nonce
          and f.state = 'included' and f.id < recent_outcomes() offset 0
      ) f;
  end if;
end $$;

-- Finds the failed submissions among these.
create or replace function find_failed(the_chain integer, ids uuid[], key_ids text[], inner_hashes bytea[],
                                       senders bytea[])
returns table (id uuid) language plpgsql rows 1 as $$
#variable_conflict use_column
begin
  return query
    select f.id from unnest(ids, key_ids, inner_hashes, senders) n (id, key_id, inner_hash, sender) cross join lateral (
      select f.id from finished f
      where f.id = n.id and f.chain = the_chain and f.key_id = n.key_id and f.inner_hash = n.inner_hash
        and f.sender = n.sender and f.state = 'failed' and f.id >= recent_outcomes() offset 0
    ) f;
  -- The clock of the replica that made the ids, or of the database, was wrong by days.
  if recent_outcomes() > any (ids) then
    return query
      select f.id from unnest(ids, key_ids, inner_hashes, senders) n (id, key_id, inner_hash, sender) cross join lateral (
        select f.id from finished f
        where f.id = n.id and f.chain = the_chain and f.key_id = n.key_id and f.inner_hash = n.inner_hash
          and f.sender = n.sender and f.state = 'failed' and f.id < recent_outcomes() offset 0
      ) f;
  end if;
end $$;

-- As before, with has_included().
create or replace function accept(the_chain integer, the_origin uuid, ids uuid[], key_ids text[], inner_hashes bytea[],
                       inner_raws bytea[], senders bytea[], nonces numeric[], targets bytea[],
                       selectors bytea[], waivers bytea[], is_repeated boolean)
returns table (id uuid, waiver bytea) language plpgsql as $$
#variable_conflict use_column
declare
  accepted_ids     uuid[];
  accepted_waivers bytea[];
  competitor       record;
begin
  with inserted as (
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
    -- One order for all requests, so that two requests with the same InnerTxs cannot deadlock.
    order by n.sender, n.nonce, n.ordinal
    on conflict do nothing returning id, waiver
  )
  select array_agg(i.id), array_agg(i.waiver) into accepted_ids, accepted_waivers from inserted i;
  -- A competitor may have moved to finished since the statement above began. A statement of its own sees that, because
  -- it reads what was committed before it. Its conditions are those of find_included().
  if not (is_repeated
    or exists (select from finished_range r where not (r.first_id <= all (ids) and r.end_id > all (ids)))
    or has_included(the_chain, senders, nonces)) then
    return query select * from unnest(accepted_ids, accepted_waivers);
    return;
  end if;

  -- Every outcome has to find its partition, whatever the clock of the replica that made the id.
  if exists (select from finished_range r where not (r.first_id <= all (ids) and r.end_id > all (ids))) then
    raise exception 'the store keeps no outcomes of the time of an id'
      using errcode = 'GW001', hint = 'compare the clock of the service with the clock of the database';
  end if;
  for competitor in select f.sender, f.sender_nonce from find_included(the_chain, senders, nonces) f loop
    delete from unfinished u
    where u.chain = the_chain and u.sender = competitor.sender and u.sender_nonce = competitor.sender_nonce
      and u.id = any(ids) and u.state = 'queued';
  end loop;
  -- A write that is repeated because its answer was lost finds what it accepted: above what is included, here what failed.
  for competitor in select f.id from find_failed(the_chain, ids, key_ids, inner_hashes, senders) f loop
    delete from unfinished u where u.id = competitor.id and u.state = 'queued';
  end loop;
  return query select u.id, u.waiver from unfinished u where u.id = any(ids);
end $$;

-- As before, with has_included().
create or replace function accept_signed(the_chain integer, the_waiver bytea, the_owner uuid, the_epoch bigint, the_origin uuid, ids uuid[],
                              key_ids text[], inner_hashes bytea[], inner_raws bytea[], senders bytea[], nonces numeric[],
                              targets bytea[], selectors bytea[], waiver_nonces bigint[], wrapper_hashes bytea[],
                              wrapper_raws bytea[])
returns text language plpgsql
-- Whoever holds a row or a nonce of a sender in an open transaction delays its own submissions alone: not the lane, nor its lease.
set lock_timeout = '20ms' as $$
#variable_conflict use_column
declare
  floor    bigint;
  inserted integer;
begin
  select l.nonce_floor into floor from lanes l
  where l.chain = the_chain and l.waiver = the_waiver and l.owner = the_owner and l.epoch = the_epoch for share;
  if not found then
    return 'lost';
  end if;
  if floor > any (waiver_nonces)
    or exists (select from finished_range r where not (r.first_id <= all (ids) and r.end_id > all (ids))) then
    return 'declined';
  end if;

  insert into unfinished (chain, origin, id, key_id, inner_hash, inner_raw, sender, sender_nonce, target, selector, waiver, place,
                          look_at, signings, signed_at, waiver_nonce, wrapper_hash, wrapper_raw, state)
  select the_chain, the_origin, n.id, n.key_id, n.inner_hash, n.inner_raw, n.sender, n.nonce, n.target, n.selector, the_waiver,
         now(), now(), 1, now(), n.waiver_nonce, n.wrapper_hash, n.wrapper_raw, 'signed'
  from unnest(ids, key_ids, inner_hashes, inner_raws, senders, nonces, targets, selectors, waiver_nonces, wrapper_hashes,
              wrapper_raws)
    as n (id, key_id, inner_hash, inner_raw, sender, nonce, target, selector, waiver_nonce, wrapper_hash, wrapper_raw)
  where not exists (
    select from unfinished u where u.chain + 0 = the_chain and u.sender = n.sender and u.state <> 'included' offset 0
  )
  -- One order for all requests, so that two requests with the same InnerTxs cannot deadlock.
  order by n.sender
  on conflict do nothing;
  get diagnostics inserted = row_count;
  -- A competitor may have moved to finished since the statement above began. A statement of its own sees that, because it reads what
  -- was committed before it.
  if inserted < cardinality(ids)
    or has_included(the_chain, senders, nonces) then
    raise exception 'a submission has a competitor' using errcode = 'GW002';
  end if;
  return 'accepted';
end $$;
