-- Accepts new submissions (D19), and returns those that it accepted. A refused one has a competitor, unfinished or included: the
-- same InnerTx (D18), or another with its sender's nonce (D20).
-- places: in ms since 1970; null, or none, for the end of the queue.
-- is_repeated: an earlier write may have accepted some of these ids.
--
-- Almost always all that a write inserts is accepted: its senders have no outcome with the same nonces, and no earlier write had
-- the same ids. Two statements find that out, and the ids come from the insert itself.
create function accept(the_chain integer, the_origin uuid, ids uuid[], key_ids text[], inner_hashes bytea[],
                       inner_raws bytea[], senders bytea[], nonces numeric[], targets bytea[],
                       selectors bytea[], waivers bytea[], slot_counts integer[], places float8[],
                       is_repeated boolean)
returns table (id uuid, waiver bytea) language plpgsql as $$
#variable_conflict use_column
declare
  accepted_ids     uuid[];
  accepted_waivers bytea[];
  competitor       record;
begin
  with inserted as (
    insert into unfinished (chain, origin, id, key_id, inner_hash, inner_raw, sender, sender_nonce, target, selector,
                            waiver, slots, look_at)
    select the_chain, the_origin, n.id, n.key_id, n.inner_hash, n.inner_raw, n.sender, n.nonce, n.target, n.selector,
           -- A sender with unfinished submissions stays in their lane.
           coalesce(case when p.state <> 'included' then p.waiver end, (
             select u.waiver from unfinished u
             where u.chain = the_chain and u.sender = n.sender and u.state <> 'included'
             order by u.sender_nonce desc limit 1
           ), n.waiver),
           n.slots,
           -- No place is more than a minute away, also where the clock was set back since the places were given. Without places,
           -- the submissions of a request keep their order.
           least(now() + interval '1 minute',
                 coalesce(to_timestamp(n.place / 1000), now() + n.ordinal * interval '1 microsecond'))
    from unnest(ids, key_ids, inner_hashes, inner_raws, senders, nonces, targets, selectors, waivers, slot_counts, places)
      with ordinality as n (id, key_id, inner_hash, inner_raw, sender, nonce, target, selector, waiver, slots, place, ordinal)
    left join lateral (
      select u.waiver, u.state from unfinished u
      where u.chain = the_chain and u.sender = n.sender and u.sender_nonce < n.nonce
      order by u.sender_nonce desc limit 1
    ) p on true
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
