-- The rates of API keys over all replicas (D22): how many of each key's tokens are used, one for each transaction. They
-- come back with time, by this database's clock. Unlogged: it costs no disk, and a crash of the database gives each key
-- its burst anew.
create unlogged table key_rates (
  key_id text             primary key,
  used   double precision not null default 0,
  at     timestamptz      not null
) with (fillfactor = 50);

-- Takes what each of some requests needs, in their order, as far as there is enough for it, and then up to so many more
-- for later. Says what was granted, how many more there were, and how many are left.
create function take_tokens(the_key text, needs integer[], more integer, rate double precision, burst integer)
returns table (granted boolean[], extra integer, available double precision) language plpgsql as $$
declare
  bucket key_rates;
  moment timestamptz;
  need   integer;
begin
  insert into key_rates (key_id, at) values (the_key, clock_timestamp()) on conflict do nothing;
  select k.* into bucket from key_rates k where k.key_id = the_key for update;
  moment := clock_timestamp();
  available := burst - greatest(0, bucket.used - extract(epoch from moment - bucket.at)::double precision * rate);
  granted := '{}';
  foreach need in array needs loop
    -- The clock's fractions do not add up exactly.
    granted := granted || (need <= available + 1e-3);
    if need <= available + 1e-3 then
      available := available - need;
    end if;
  end loop;
  extra := greatest(0, least(more, floor(available)));
  available := available - extra;
  update key_rates set used = burst - available, at = moment where key_id = the_key;
  return next;
end $$;
