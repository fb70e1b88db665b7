#!/bin/sh
# Copies the primary at the first start, and follows it from then on.
set -e
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  PGPASSWORD=$(cat /run/secrets/replication-password) pg_basebackup --pgdata="$PGDATA" --checkpoint=fast \
    --slot=standby --write-recovery-conf --dbname="host=postgres user=replication application_name=standby \
    sslmode=verify-full sslrootcert=/run/secrets/database-ca"
fi
exec postgres "$@"
