-- The chains that this store has served. A service serves one chain at a time. The genesis hash distinguishes chains with
-- the same id, such as a devnet that was started anew, or a wrong node.
create table chains (
  -- By the service: no table has a sequence, because a copy of the rows, as logical replication makes it, would begin anew.
  id           integer     primary key,
  chain_id     bigint      not null,
  genesis_hash bytea       not null,
  created_at   timestamptz not null default now()
);

-- The database servers that this store has lived on, by the identity of their files and their timeline. PostgreSQL begins
-- a new timeline when a standby is promoted and when a backup is restored. Then the last commits may be lost, and wrappers
-- that the store does not know may be its own.
create table database_servers (
  system     bigint      not null,
  timeline   integer     not null,
  first_seen timestamptz not null default now(),
  primary key (system, timeline)
);
