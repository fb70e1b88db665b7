-- The secrets of this store, such as the key of the keyed hashes below. A restored backup has them too.
create table store_secrets (
  name       text        primary key,
  value      bytea       not null check (octet_length(value) = 32),
  created_at timestamptz not null default now()
);

-- The API keys of the configuration, by a keyed hash (HMAC), with the id that names each in submissions, logs and metrics. A
-- key that had an id before this table keeps it, so that its submissions stay its own.
create table configured_keys (
  fingerprint bytea       primary key check (octet_length(fingerprint) = 32),
  key_id      text        not null unique check (key_id ~ '^[0-9a-f]{16}$'),
  first_seen  timestamptz not null default now()
);
