-- Unfinished and finished submissions have a table each. The unfinished ones are few, and change at every step. The
-- finished ones are many, and never change. So the cost of a step does not depend on the number of finished rows, and a
-- finished row is written once.

-- No index of unfinished rows has the state in its condition, because every step would then write every index again.
-- The table does not reference chains, because each row would lock the chain's row.
create table unfinished (
  id            uuid             primary key,
  chain         integer          not null,
  key_id        text             not null,
  -- The replica that accepted it, whose clients wait for the result.
  origin        uuid             not null,
  state         submission_state not null default 'queued' check (state <> 'failed'),

  -- The InnerTx. A nonce can be 2^64-2, which does not fit into a bigint.
  inner_hash    bytea            not null check (octet_length(inner_hash) = 32),
  inner_raw     bytea            not null,
  sender        bytea            not null check (octet_length(sender) = 20),
  sender_nonce  numeric(20)      not null,
  target        bytea            not null check (octet_length(target) = 20),
  selector      bytea            check (octet_length(selector) = 4),

  -- Its lane, and the WrapperTx once it is signed.
  waiver        bytea            not null,
  waiver_nonce  bigint,
  signings      integer          not null default 0,
  wrapper_hash  bytea,
  wrapper_raw   bytea,

  -- Its block, which a reorg may still remove.
  block_number  bigint,
  block_hash    bytea,
  gas_used      bigint,
  reverted      boolean,

  accepted_at   timestamptz      not null default now(),
  look_at       timestamptz      not null default now(),
  signed_at     timestamptz,
  broadcast_at  timestamptz,
  included_at   timestamptz,

  check ((waiver_nonce is null) = (wrapper_raw is null)),
  check (state not in ('signed', 'broadcast') or waiver_nonce is not null),
  check ((state = 'included') = (block_number is not null))
)
-- Leaves room on each page for the next versions of its rows, and vacuums often after a busy lane.
with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- D18, D20: one submission per sender and nonce.
create unique index unfinished_by_sender on unfinished (chain, sender, sender_nonce);
-- One submission for each nonce of a waiver.
create unique index unfinished_by_waiver_nonce on unfinished (chain, waiver, waiver_nonce)
  where waiver_nonce is not null;
-- The queue of a lane, by API key.
create index unfinished_queued on unfinished (chain, waiver, key_id, id) where waiver_nonce is null;
create index unfinished_not_final on unfinished (chain, waiver, block_number) where block_number is not null;

-- The final outcomes. Rows are only inserted.
create table finished (
  id            uuid             primary key,
  chain         integer          not null,
  key_id        text             not null,
  state         submission_state not null check (state in ('included', 'failed')),

  inner_hash    bytea            not null,
  sender        bytea            not null,
  sender_nonce  numeric(20)      not null,
  target        bytea            not null,
  selector      bytea,

  -- Its lane, and the WrapperTx that carried it, if that was the stored one.
  waiver        bytea            not null,
  waiver_nonce  bigint,
  signings      integer          not null,
  wrapper_hash  bytea,

  block_number  bigint,
  block_hash    bytea,
  gas_used      bigint,
  reverted      boolean,
  error_reason  text,
  error_message text,

  accepted_at   timestamptz      not null,
  signed_at     timestamptz,
  broadcast_at  timestamptz,
  included_at   timestamptz,
  finished_at   timestamptz      not null default now(),

  check ((state = 'failed') = (error_reason is not null))
);

-- D18: an included InnerTx is found by its sender and nonce for ever.
create unique index finished_by_sender on finished (chain, sender, sender_nonce) where state = 'included';
-- Finds the highest nonce of a waiver that was seen in a block.
create index finished_by_waiver_nonce on finished (chain, waiver, waiver_nonce) where waiver_nonce is not null;

insert into finished
select id, chain, key_id, state, inner_hash, sender, sender_nonce, target, selector, waiver, waiver_nonce, signings,
       wrapper_hash, block_number, block_hash, gas_used, reverted, error_reason, error_message,
       accepted_at, signed_at, broadcast_at, case when state = 'included' then finished_at end,
       coalesce(final_at, finished_at, now())
from submissions where state = 'failed' or final_at is not null;
insert into unfinished
select id, chain, key_id, origin, state, inner_hash, inner_raw, sender, sender_nonce, target, selector, waiver,
       waiver_nonce, signings, wrapper_hash, wrapper_raw, block_number, block_hash, gas_used, reverted,
       accepted_at, look_at, signed_at, broadcast_at, finished_at
from submissions where state <> 'failed' and final_at is null;
drop table submissions;

-- Both tables, for reading. A submission is in one of them.
create view submissions as
select id, chain, key_id, state, inner_hash, sender, sender_nonce, target, selector, waiver, waiver_nonce, signings,
       wrapper_hash, block_number, block_hash, gas_used, reverted, null::text as error_reason,
       null::text as error_message, accepted_at, signed_at, broadcast_at, included_at,
       null::timestamptz as finished_at
from unfinished
union all
select id, chain, key_id, state, inner_hash, sender, sender_nonce, target, selector, waiver, waiver_nonce, signings,
       wrapper_hash, block_number, block_hash, gas_used, reverted, error_reason,
       error_message, accepted_at, signed_at, broadcast_at, included_at,
       finished_at
from finished;

-- Accepts new submissions (D19), and returns those that it accepted. A refused one has a competitor, unfinished or
-- included: the same InnerTx (D18), or another with its sender's nonce (D20).
create function accept(the_chain integer, the_origin uuid, ids uuid[], key_ids text[], inner_hashes bytea[],
                       inner_raws bytea[], senders bytea[], nonces numeric[], targets bytea[], selectors bytea[],
                       waivers bytea[])
returns table (id uuid, waiver bytea) language plpgsql as $$
#variable_conflict use_column
begin
  insert into unfinished (chain, origin, id, key_id, inner_hash, inner_raw, sender, sender_nonce, target, selector,
                          waiver)
  select the_chain, the_origin, a.id, a.key_id, a.inner_hash, a.inner_raw, a.sender, a.nonce, a.target, a.selector,
         -- A sender with unfinished submissions stays in their lane.
         coalesce((select u.waiver from unfinished u
                   where u.chain = the_chain and u.sender = a.sender and u.state <> 'included' limit 1), a.waiver)
  from unnest(ids, key_ids, inner_hashes, inner_raws, senders, nonces, targets, selectors, waivers) with ordinality
    as a (id, key_id, inner_hash, inner_raw, sender, nonce, target, selector, waiver, place)
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
