-- Takes the tokens of several requests in their order, all or none for each, and then up to a number of further tokens.
-- Returns which requests got theirs, the number of further tokens, and the number that is left.
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
  -- The bucket may have a time ahead, from before the clock was set back.
  available := burst - greatest(0, bucket.used
    - extract(epoch from greatest(interval '0', moment - bucket.at))::double precision * rate);
  granted := '{}';
  foreach need in array needs loop
    -- Fractions of seconds do not add up exactly.
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
