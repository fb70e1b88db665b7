-- Accepts new submissions, each with its signed wrapper (D19), into a held lane: all or none. The senders differ. A lane at rest
-- accepts and signs in this one write, which logs the row, most of its index entries and a transaction once instead of twice.
-- Returns 'accepted', 'lost' without the lease, or 'declined' where accept() has to decide: a nonce is below the floor of the lane,
-- or an id is outside of the days. Raises GW002 where a sender has unfinished submissions, or a nonce is used.
create function accept_signed(the_chain integer, the_waiver bytea, the_owner uuid, the_epoch bigint, the_origin uuid, ids uuid[],
                              key_ids text[], inner_hashes bytea[], inner_raws bytea[], senders bytea[], nonces numeric[],
                              targets bytea[], selectors bytea[], slot_counts integer[], waiver_nonces bigint[], wrapper_hashes bytea[],
                              wrapper_raws bytea[], head bigint)
returns text language plpgsql
-- Whoever holds a row or a nonce of a sender in an open transaction delays its own submissions alone, not the lane.
set lock_timeout = '20ms' as $$
#variable_conflict use_column
declare
  floor    bigint;
  inserted integer;
begin
  select l.nonce_floor into floor from lanes l
  where l.chain = the_chain and l.waiver = the_waiver and l.owner = the_owner and l.epoch = the_epoch for key share;
  if not found then
    return 'lost';
  end if;
  if floor > any (waiver_nonces)
    or exists (select from finished_range r where not (r.first_id <= all (ids) and r.end_id > all (ids))) then
    return 'declined';
  end if;

  insert into unfinished (chain, origin, id, key_id, inner_hash, inner_raw, sender, sender_nonce, target, selector, waiver, look_at,
                          slots, signings, signed_at, waiver_nonce, wrapper_hash, wrapper_raw, since_block, state)
  select the_chain, the_origin, n.id, n.key_id, n.inner_hash, n.inner_raw, n.sender, n.nonce, n.target, n.selector, the_waiver,
         now(), n.slots, 1, now(), n.waiver_nonce, n.wrapper_hash, n.wrapper_raw, head, 'signed'
  from unnest(ids, key_ids, inner_hashes, inner_raws, senders, nonces, targets, selectors, slot_counts, waiver_nonces, wrapper_hashes,
              wrapper_raws)
    as n (id, key_id, inner_hash, inner_raw, sender, nonce, target, selector, slots, waiver_nonce, wrapper_hash, wrapper_raw)
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
