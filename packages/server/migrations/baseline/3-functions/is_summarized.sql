-- Tells whether one of these nonces is below the next one of its sender in the summarized days.
create function is_summarized(the_chain integer, senders bytea[], nonces numeric[]) returns boolean language plpgsql as $$
begin
  return exists (
    select from unnest(senders, nonces) a (sender, nonce) cross join lateral (
      select from sender_nonces n where n.chain = the_chain and n.sender = a.sender and n.next > a.nonce offset 0
    ) n);
end $$;
