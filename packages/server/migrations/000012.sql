-- Turns in the queue of a lane. A submission that waits (for its sender's earlier nonce, or for the end of a pause) is in a
-- range of its own in the index of the queue, so that steps do not read past it, and `look_at` is the end of its pause. For
-- any other, `look_at` is its place in the queue: the senders of an API key take turns by it, as accept() gives it.
alter table unfinished add column is_waiting boolean not null default false;
update unfinished set is_waiting = true where state = 'queued' and look_at > now();
drop index unfinished_queued;
-- The queue of a lane, by API key.
create index unfinished_queued on unfinished (chain, waiver, key_id, is_waiting, look_at, id) where waiver_nonce is null;

-- Accepts new submissions (D19), and returns those that it accepted. A refused one has a competitor, unfinished or
-- included: the same InnerTx (D18), or another with its sender's nonce (D20).
create or replace function accept(the_chain integer, the_origin uuid, ids uuid[], key_ids text[], inner_hashes bytea[],
                                  inner_raws bytea[], senders bytea[], nonces numeric[], targets bytea[],
                                  selectors bytea[], waivers bytea[])
returns table (id uuid, waiver bytea) language plpgsql as $$
#variable_conflict use_column
begin
  insert into unfinished (chain, origin, id, key_id, inner_hash, inner_raw, sender, sender_nonce, target, selector,
                          waiver, look_at)
  select the_chain, the_origin, a.id, a.key_id, a.inner_hash, a.inner_raw, a.sender, a.nonce, a.target, a.selector,
         -- A sender with unfinished submissions stays in their lane.
         coalesce(p.waiver, a.waiver),
         -- Each submission of a sender takes its place 10 ms behind the one before, so that another sender's goes ahead of
         -- a long row of them. No place is more than a minute away, so that none waits for ever.
         greatest(now(), least(p.look_at + interval '10 milliseconds', now() + interval '1 minute'))
           + interval '10 milliseconds'
             * least(6000, row_number() over (partition by a.sender order by a.nonce, a.place) - 1)
  from unnest(ids, key_ids, inner_hashes, inner_raws, senders, nonces, targets, selectors, waivers) with ordinality
    as a (id, key_id, inner_hash, inner_raw, sender, nonce, target, selector, waiver, place)
    left join lateral (
      select u.waiver, u.look_at from unfinished u
      where u.chain = the_chain and u.sender = a.sender and u.state <> 'included'
      order by u.sender_nonce desc limit 1
    ) p on true
  -- A write that is repeated because its answer was lost finds what it accepted.
  where (select true from finished f where f.id = a.id) is null
  -- One order for all requests, so that two requests with the same InnerTxs cannot deadlock.
  order by a.sender, a.nonce, a.place
  on conflict do nothing;
  -- A competitor may have moved to finished since the statement above began. A statement of its own sees that, because
  -- it reads what was committed before it.
  delete from unfinished u
  where u.id = any(ids) and u.state = 'queued'
    and (select true from finished f
         where f.chain = the_chain and f.sender = u.sender and f.sender_nonce = u.sender_nonce
           and f.state = 'included' limit 1);
  return query select u.id, u.waiver from unfinished u where u.id = any(ids);
end $$;
