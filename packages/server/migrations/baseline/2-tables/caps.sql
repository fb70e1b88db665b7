-- Daily caps of API keys (D25). The write that accepts a submission also reserves its share (accept_capped), so a crash leaks
-- nothing. A lane that finds a nonce ahead of its turn gives the share back in the write that puts the submission aside, and
-- reserves again before it signs. A day is a day of UTC by the database's clock.
--
-- A transaction that stays open keeps every dead row of these tables. So accepting does not change the row of its key each
-- time: the reservations since the last sum are one row of cap_reserved, which each write makes anew and finds from the end of
-- the index. Once a second a write sums up: it takes in cap_outcomes and cap_reserved, and changes the row of the key.

-- The amounts that a key has reserved in a day, in all (an empty sender) and for each sender. A session that changes the row
-- of a sender holds the key's row, so two sessions cannot deadlock.
create table cap_usage (
  key_id       text   not null,
  day          date   not null,
  sender       bytea  not null,
  transactions bigint not null default 0,
  gas          bigint not null default 0,
  -- The time from which on a write of the key sums up. It has no meaning in the row of a sender.
  sum_at       timestamptz,
  primary key (key_id, day, sender)
);

-- The amounts that a key has reserved since its row of cap_usage was changed. A key has one row for a day. Versions only go up.
create table cap_reserved (
  key_id       text   not null,
  day          date   not null,
  version      bigint not null,
  transactions bigint not null,
  gas          bigint not null,
  primary key (key_id, day, version)
);

-- The changes by the outcomes of submissions, and by those that wait unreserved. A lane inserts them, and so waits for no key's row.
create table cap_outcomes (
  key_id       text   not null,
  day          date   not null,
  sender       bytea  not null,
  transactions bigint not null,
  gas          bigint not null
);
create index cap_outcomes_of_key on cap_outcomes (key_id, day);
-- Without a key, PostgreSQL refuses to delete rows once the table is published for logical replication.
alter table cap_outcomes replica identity full;
