-- The final outcomes. Rows are only inserted. A submission without one is a row of `unfinished`: those rows are few and change at
-- every step, these are many and never change. So the cost of a step does not depend on the number of outcomes.
--
-- Outcomes live in partitions, one for each day (UTC) of acceptance: a UUIDv7 begins with its time, so a day is a range of
-- ids. Old days are dropped whole. Indexes belong to the partitions (create_finished_partition).
create table finished (
  id            uuid             not null,
  chain         integer          not null,
  key_id        text             not null,
  state         submission_state not null check (state in ('included', 'failed')),

  inner_hash    bytea            not null,
  sender        bytea            not null,
  sender_nonce  numeric(20)      not null,
  target        bytea            not null,
  selector      bytea,

  -- The wrapper that carried it, and its lane.
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

  -- The values of a failure's details, or the cause of a revert, under the names that the wire has. The type is not jsonb, which
  -- refuses some texts that a node may send.
  error_details json,

  check ((state = 'failed') = (error_reason is not null))
) partition by range (id);

-- The partitions of `finished`. A day is summarized some days after its end; from then on only look-ups by id and the rare
-- searches of all days read it. Days are summarized in their order.
create table finished_days (
  -- The day of its ids; of a partition with several days, the last one.
  day           date        primary key,
  partition     text        not null unique,
  first_id      uuid        not null,
  end_id        uuid        not null,
  summarized_at timestamptz,
  -- The time at which it was decided to drop the partition. No new submission gets an id of a closed day.
  closed_at     timestamptz
);

-- The ids that some partition takes, and that new submissions may have. It has one row.
create table finished_range (first_id uuid primary key, end_id uuid not null);

-- The nonce above the highest that a sender's included submissions have in the summarized days. Whether a nonce was used long
-- ago is one look here, instead of one in each partition.
create table sender_nonces (
  chain    integer     not null,
  sender   bytea       not null,
  next     numeric(20) not null,
  -- The last day in which it has one.
  last_day date        not null,
  primary key (chain, sender)
);

-- The days whose outcomes have been exported completely.
create table exports (
  partition_day date        primary key,
  exported_at   timestamptz not null default now(),
  rows          bigint      not null
);
