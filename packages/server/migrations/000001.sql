-- The chains that this store has served. One service serves one chain; the genesis tells a chain from another
-- with the same id (a devnet that was started anew, a wrong node).
create table chains (
  id           integer generated always as identity primary key,
  chain_id     bigint not null,
  genesis_hash bytea  not null,
  created_at   timestamptz not null default now()
);

-- One lane per waiver key. Whoever holds the lease may write the lane's rows; the epoch goes up with every
-- change of owner, and every write of the lane is guarded by it.
create table lanes (
  chain       integer     not null references chains,
  waiver      bytea       not null check (octet_length(waiver) = 20),
  owner       uuid        not null,
  epoch       bigint      not null,
  lease_until timestamptz not null,
  primary key (chain, waiver)
);

create type submission_state as enum ('queued', 'signed', 'broadcast', 'included', 'failed');

create table submissions (
  id            uuid             primary key,
  chain         integer          not null references chains,
  key_id        text             not null,
  state         submission_state not null default 'queued',

  -- The InnerTx. A nonce may reach 2^64-2, which is more than bigint holds.
  inner_hash    bytea            not null check (octet_length(inner_hash) = 32),
  inner_raw     bytea            not null,
  sender        bytea            not null check (octet_length(sender) = 20),
  sender_nonce  numeric(20)      not null,
  target        bytea            not null check (octet_length(target) = 20),
  selector      bytea            check (octet_length(selector) = 4),

  -- The lane, once one has taken it, and the WrapperTx.
  waiver        bytea,
  waiver_nonce  bigint,
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

  check ((waiver_nonce is null) = (wrapper_raw is null)),
  check (state not in ('signed', 'broadcast', 'included') or waiver_nonce is not null),
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
create index submissions_queued on submissions (chain, id) where state = 'queued';
create index submissions_under_way on submissions (chain, waiver, waiver_nonce)
  where state in ('signed', 'broadcast');
