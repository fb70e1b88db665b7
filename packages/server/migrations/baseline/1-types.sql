create type lane_state as enum ('open', 'draining', 'retired', 'stopped');

create type submission_state as enum ('queued', 'signed', 'broadcast', 'included', 'failed');
