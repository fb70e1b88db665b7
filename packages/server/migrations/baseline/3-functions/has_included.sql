-- Tells whether an included outcome has one of these nonces (D18, D20). Its conditions are those of find_included(). It is volatile,
-- so that it sees what was committed before it, and not only what its caller sees.
--
-- `unfinished` is vacuumed often, and then its statements are planned again. This function, find_included(), find_failed() and
-- highest_final_nonce() keep what is read of the partitions of `finished` out of those statements, so that few plans have the cost
-- of several partitions.
create function has_included(the_chain integer, senders bytea[], nonces numeric[]) returns boolean language plpgsql as $$
begin
  return exists (
      select from unnest(senders, nonces) a (sender, nonce) cross join lateral (
        select from finished f
        where f.chain = the_chain and f.sender = a.sender and f.sender_nonce = a.nonce
          and f.state = 'included' and f.id >= recent_outcomes() offset 0
      ) f)
    or is_summarized(the_chain, senders, nonces);
end $$;
