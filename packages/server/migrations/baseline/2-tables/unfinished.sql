-- The submissions without a final outcome. They are few, and change at every step.
--
-- A step writes a new version of a row. Where that is on the same page, PostgreSQL logs the bytes from the first that changes to
-- the last. So the columns stand in the order of the steps that change them: "broadcast" logs a state and a time. The table does
-- not reference chains, because each row would lock the chain's row.
create table unfinished (
  -- Never changed.
  id             uuid             primary key,
  chain          integer          not null,
  accepted_at    timestamptz      not null default now(),
  -- The replica that accepted it, whose clients wait for the result.
  origin         uuid             not null,
  key_id         text             not null,
  inner_hash     bytea            not null check (octet_length(inner_hash) = 32),
  sender         bytea            not null check (octet_length(sender) = 20),
  -- A nonce can be 2^64-2, which does not fit into a bigint.
  sender_nonce   numeric(20)      not null,
  target         bytea            not null check (octet_length(target) = 20),
  selector       bytea            check (octet_length(selector) = 4),
  inner_raw      bytea            not null,
  -- The places in flight that its wrapper takes (slotsOf).
  slots          integer          not null default 1 check (slots > 0),
  -- Seldom changed.
  -- The day and the gas of the reservation; null without a cap. A submission that waits for its turn has no day: it is
  -- unreserved, and is not signed so.
  cap_day        date,
  cap_gas        bigint,
  -- The wrapper that carried an included submission, where that is not its own: one that it had before, in its lane or in
  -- another one of this store.
  carrier_waiver bytea,
  carrier_nonce  bigint,
  carrier_hash   bytea,
  -- The wrappers of it that blocks have left out. No other lane gets it while its own is jammed by one of them.
  strikes        integer          not null default 0,
  -- The words of the node that last did not take a wrapper of it, so that it is queued again.
  node_said      text,
  -- Its lane, and its place in the queue. A submission that waits (for its sender's earlier nonce, or for the end of a pause) is
  -- in a range of its own in the index of the queue, so that steps do not read past it, and `look_at` is the end of its pause.
  -- For any other, `look_at` is its place: the virtual time that it was given when it was accepted.
  waiver         bytea            not null,
  is_waiting     boolean          not null default false,
  look_at        timestamptz      not null default now(),
  -- Signed.
  signings       integer          not null default 0,
  signed_at      timestamptz,
  waiver_nonce   bigint,
  wrapper_hash   bytea,
  wrapper_raw    bytea,
  -- The head of the chain when it was first signed: none of its wrappers is in an earlier block. Null if the head was not known.
  since_block    bigint,
  -- Each step changes the state; "broadcast" changes no other column than the next.
  state          submission_state not null default 'queued' check (state <> 'failed'),
  broadcast_at   timestamptz,
  -- Its block, which a reorg may still remove.
  block_number   bigint,
  gas_used       bigint,
  included_at    timestamptz,
  reverted       boolean,
  block_hash     bytea,
  -- The cause of a revert, under the names that the wire has, while no block of the submission is final.
  error_details  json,

  constraint unfinished_wrapper_check check ((waiver_nonce is null) = (wrapper_raw is null)),
  constraint unfinished_in_flight_check check (state not in ('signed', 'broadcast') or waiver_nonce is not null),
  constraint unfinished_block_check check ((state = 'included') = (block_number is not null)),
  constraint unfinished_cap_check check (cap_day is null or cap_gas is not null)
)
-- Four rows on a page leave room for the next two versions of each. With six, a quarter of the versions went to another page, and
-- was logged whole. A vacuum comes soon after a busy lane.
with (fillfactor = 25, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- No index has the state in its condition, because every step would then write every index again.

-- D18, D20: one submission per sender and nonce. PostgreSQL plans the statements again after each vacuum. Where a vacuum leaves
-- few rows, an index with a plain column of the condition seems as cheap as any other: a look-up in a lane, by chain and waiver,
-- then read the entries of all senders, with the dead ones that an open transaction keeps. No condition fits this expression, so
-- that only look-ups of a sender choose this index.
create unique index unfinished_of_sender on unfinished (sender, sender_nonce, (chain + 0));
-- One submission for each nonce of a waiver.
create unique index unfinished_by_waiver_nonce on unfinished (chain, waiver, waiver_nonce) where waiver_nonce is not null;
-- The queue of a lane, in its order.
create index unfinished_queued on unfinished (chain, waiver, is_waiting, look_at, id) where waiver_nonce is null;
create index unfinished_not_final on unfinished (chain, waiver, block_number) where block_number is not null;
