-- The chains that this store has served. One service serves one chain; the genesis tells a chain from another
-- with the same id (a devnet that was started anew, a wrong node).
create table chains (
  id           integer generated always as identity primary key,
  chain_id     bigint not null,
  genesis_hash bytea  not null,
  created_at   timestamptz not null default now()
);

create type lane_state as enum ('open', 'draining', 'retired', 'stopped');

-- One lane per waiver key. Whoever holds the lease may write the lane's rows; the epoch goes up with every
-- change of owner, and every write of the lane is guarded by it. All times are the database's.
create table lanes (
  chain         integer     not null references chains,
  waiver        bytea       not null check (octet_length(waiver) = 20),
  state         lane_state  not null default 'open',
  -- Why it was stopped, or why its breaker is open.
  reason        text,
  -- No work is given to it until then.
  broken_until  timestamptz not null default '-infinity',
  owner         uuid,
  epoch         bigint      not null default 0,
  lease_until   timestamptz not null default '-infinity',
  -- How often the chain used one of its nonces for a wrapper that is not ours.
  foreign_uses  integer     not null default 0,
  primary key (chain, waiver)
);

create type submission_state as enum ('queued', 'signed', 'broadcast', 'included', 'failed');

create table submissions (
  id            uuid             primary key,
  chain         integer          not null references chains,
  key_id        text             not null,
  -- The replica that took it, and whose clients wait for it.
  origin        uuid             not null,
  state         submission_state not null default 'queued',

  -- The InnerTx. A nonce may reach 2^64-2, which is more than bigint holds.
  inner_hash    bytea            not null check (octet_length(inner_hash) = 32),
  inner_raw     bytea            not null,
  sender        bytea            not null check (octet_length(sender) = 20),
  sender_nonce  numeric(20)      not null,
  target        bytea            not null check (octet_length(target) = 20),
  selector      bytea            check (octet_length(selector) = 4),

  -- Its lane; and the WrapperTx, once signed.
  waiver        bytea            not null,
  waiver_nonce  bigint,
  signings      integer          not null default 0,
  wrapper_hash  bytea,
  wrapper_raw   bytea,

  -- What became of it.
  block_number  bigint,
  block_hash    bytea,
  gas_used      bigint,
  reverted      boolean,
  error_reason  text,
  error_message text,

  accepted_at   timestamptz      not null default now(),
  look_at       timestamptz      not null default now(),
  signed_at     timestamptz,
  broadcast_at  timestamptz,
  finished_at   timestamptz,
  -- When its block was deep enough to stay.
  final_at      timestamptz,

  check ((waiver_nonce is null) = (wrapper_raw is null)),
  check (state not in ('signed', 'broadcast') or waiver_nonce is not null),
  check ((state = 'failed') = (error_reason is not null))
);

-- D18: the same InnerTx is the same submission, until it has failed for good.
create unique index submissions_by_inner on submissions (chain, inner_hash) where state <> 'failed';
-- D20: one submission per sender and nonce.
create unique index submissions_by_sender on submissions (chain, sender, sender_nonce) where state <> 'failed';
-- A waiver's nonce is carried by one submission.
create unique index submissions_by_waiver_nonce on submissions (chain, waiver, waiver_nonce)
  where waiver_nonce is not null;
-- What is under way, so that finished rows cost nothing.
create index submissions_queued on submissions (chain, waiver, key_id, id) where state = 'queued';
create index submissions_under_way on submissions (chain, waiver, waiver_nonce)
  where state in ('signed', 'broadcast');
create index submissions_of_sender on submissions (chain, sender)
  where state in ('queued', 'signed', 'broadcast');
create index submissions_not_final on submissions (chain, waiver, block_number)
  where state = 'included' and final_at is null;
