-- The API keys (D25). A row has the SHA-256 of the whole key, never the key itself. A key is never deleted, so that its
-- submissions and its audit keep meaning something.
create table api_keys (
  id             text        primary key check (id ~ '^[0-9a-f]{16}$'),
  env            text        not null check (env ~ '^[a-z0-9]{1,16}$'),
  label          text        not null check (length(label) between 1 and 200),
  secret_hash    bytea       not null check (octet_length(secret_hash) = 32),
  -- The key before the last rotation, and the time until which it is accepted.
  previous_hash  bytea       check (octet_length(previous_hash) = 32),
  previous_until timestamptz,
  created_at     timestamptz not null default now(),
  expires_at     timestamptz,
  disabled_at    timestamptz,
  revoked_at     timestamptz,
  -- The limits, scope and caps that are set for the key. The service's limits hold for the rest.
  terms          jsonb       not null default '{}' check (jsonb_typeof(terms) = 'object'),
  -- The number of the last change, counted over all keys. An advisory lock puts changes in order, so a replica that has
  -- read a version has read all versions before it.
  version        bigint      not null unique,

  check ((previous_hash is null) = (previous_until is null))
);

-- The secrets of this store. The API keys and admin tokens of the configuration have keyed hashes (HMAC) by them as their ids,
-- in submissions, logs and metrics. A restored backup has them too.
create table store_secrets (
  name       text        primary key,
  value      bytea       not null check (octet_length(value) = 32),
  created_at timestamptz not null default now()
);

-- The token buckets of API keys, over all replicas (D22): the used tokens of each key, one for each transaction. They
-- refill with time, by the database's clock. The table is unlogged: its writes need no WAL, and a crash of the database
-- refills every bucket.
create unlogged table key_rates (
  key_id text             primary key,
  used   double precision not null default 0,
  at     timestamptz      not null
) with (fillfactor = 50);
