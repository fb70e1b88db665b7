-- The database servers that this store has lived on, by the identity of their files and their timeline. PostgreSQL begins
-- a new timeline when a standby is promoted and when a backup is restored. Then the last commits may be lost, and wrappers
-- that the store does not know may be its own.
create table database_servers (
  system     bigint      not null,
  timeline   integer     not null,
  first_seen timestamptz not null default now(),
  primary key (system, timeline)
);

-- The time of the last foreign use. Uses that lie far apart do not add up.
alter table lanes add column foreign_use_at timestamptz not null default '-infinity';
