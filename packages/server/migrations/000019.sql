-- The place in the queue that accept() gave a submission. `look_at` has it too, until the submission has to wait.
alter table unfinished add column place timestamptz;

-- Accepts new submissions (D19), and returns those that it accepted. A refused one has a competitor, unfinished or
-- included: the same InnerTx (D18), or another with its sender's nonce (D20).
create or replace function accept(the_chain integer, the_origin uuid, ids uuid[], key_ids text[], inner_hashes bytea[],
                                  inner_raws bytea[], senders bytea[], nonces numeric[], targets bytea[],
                                  selectors bytea[], waivers bytea[])
returns table (id uuid, waiver bytea) language plpgsql as $$
#variable_conflict use_column
begin
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
  where (select true from finished f where f.id = n.id) is null
  -- One order for all requests, so that two requests with the same InnerTxs cannot deadlock.
  order by n.sender, n.nonce, n.ordinal
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
