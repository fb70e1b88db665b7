-- The lowest id of a day.
create function first_id_of(the_day date) returns uuid language sql immutable strict as $$
  select (lpad(to_hex(extract(epoch from the_day)::bigint * 1000), 12, '0') || repeat('0', 20))::uuid
$$;

-- The day of an id.
create function day_of(id uuid) returns date language sql immutable strict as $$
  select (to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000) at time zone 'UTC')::date
$$;
