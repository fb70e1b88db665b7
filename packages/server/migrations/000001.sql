-- The chains that this store has served. A service serves one chain at a time. The genesis hash distinguishes chains with
-- the same id, such as a devnet that was started anew, or a wrong node.
create table chains (
  id           integer generated always as identity primary key,
  chain_id     bigint not null,
  genesis_hash bytea  not null,
  created_at   timestamptz not null default now()
);

create type lane_state as enum ('open', 'draining', 'retired', 'stopped');

-- One lane for each waiver key. The replica that holds the lease may write the lane's rows. The epoch goes up each time
-- the owner changes, and guards every write of the lane. All times are by the database's clock.
create table lanes (
  chain         integer     not null references chains,
  waiver        bytea       not null check (octet_length(waiver) = 20),
  state         lane_state  not null default 'open',
  -- The reason why the lane is stopped, or why its breaker is open.
  reason        text,
  -- The end of the time in which the breaker keeps new work away.
  broken_until  timestamptz not null default '-infinity',
  owner         uuid,
  epoch         bigint      not null default 0,
  lease_until   timestamptz not null default '-infinity',
  -- The number of its nonces that the chain has used for wrappers of something else.
  foreign_uses  integer     not null default 0,
  primary key (chain, waiver)
);

create type submission_state as enum ('queued', 'signed', 'broadcast', 'included', 'failed');

create table submissions (
  id            uuid             primary key,
  chain         integer          not null references chains,
  key_id        text             not null,
  -- The replica that accepted it, whose clients wait for the result.
  origin        uuid             not null,
  state         submission_state not null default 'queued',

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

  -- The outcome.
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
  -- The time at which its block became final.
  final_at      timestamptz,

  check ((waiver_nonce is null) = (wrapper_raw is null)),
  check (state not in ('signed', 'broadcast') or waiver_nonce is not null),
  check ((state = 'failed') = (error_reason is not null))
);

-- D18: the same InnerTx is the same submission, unless that has failed.
create unique index submissions_by_inner on submissions (chain, inner_hash) where state <> 'failed';
-- D20: one submission per sender and nonce.
create unique index submissions_by_sender on submissions (chain, sender, sender_nonce) where state <> 'failed';
-- One submission for each nonce of a waiver.
create unique index submissions_by_waiver_nonce on submissions (chain, waiver, waiver_nonce)
  where waiver_nonce is not null;
-- Only unfinished submissions, so that finished rows cost nothing.
create index submissions_queued on submissions (chain, waiver, key_id, id) where state = 'queued';
create index submissions_under_way on submissions (chain, waiver, waiver_nonce)
  where state in ('signed', 'broadcast');
create index submissions_of_sender on submissions (chain, sender)
  where state in ('queued', 'signed', 'broadcast');
create index submissions_not_final on submissions (chain, waiver, block_number)
  where state = 'included' and final_at is null;
