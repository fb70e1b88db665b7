#!/bin/sh
# Makes the secrets of deploy/compose.yaml in deploy/secrets, as root, since each belongs to the user that reads it:
#   deploy/compose/prepare.sh KEYSTORE-OR-FOLDER PASSPHRASE-FILE [HOST-NAME [WEBHOOK-OF-ALARMS]]
# An existing secret stays; another keystore, of the same passphrase, is added. For clients outside, put a certificate of a
# public issuer into proxy-certificate.
set -e
[ -r "$1" ] && [ -r "$2" ] || { sed -n 2,5p "$0" >&2; exit 2; }
given=$(realpath "$1") passphrase=$(realpath "$2") name=${3:-localhost} webhook=$4
cd "$(dirname "$0")/.."
umask 077
mkdir -p secrets/keystores
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The users of the images: PostgreSQL's, the service's, HAProxy's, Grafana's and Alertmanager's.
postgres=999 service=10001 haproxy=99 grafana=472 alertmanager=65534

keep() { # NAME USER, with the content on standard input
  [ -e "secrets/$1" ] || { cat > secrets/.new; chown "$2" secrets/.new; mv secrets/.new "secrets/$1"; }
}
certificate() { # FILE NAMES, signed by the authority in $work
  openssl req -newkey rsa:2048 -nodes -keyout "$1.key" -subj "/CN=gas-waiver" -addext "subjectAltName=$2" -out "$1.csr" 2>/dev/null
  openssl x509 -req -in "$1.csr" -CA "$work/ca.crt" -CAkey "$work/ca.key" -days 825 -copy_extensions copy -out "$1.crt" 2>/dev/null
}

[ -e secrets/database-password ] || openssl rand -hex 24 | keep database-password "$postgres"
[ -e secrets/replication-password ] || openssl rand -hex 24 | keep replication-password "$postgres"
[ -e secrets/grafana-password ] || openssl rand -hex 24 | keep grafana-password "$grafana"
printf 'postgres://gas_waiver:%s@postgres/gas_waiver?sslmode=verify-full&sslrootcert=/run/secrets/database-ca\n' \
  "$(cat secrets/database-password)" | keep database-url "$service"
if [ -d "$given" ]; then set -- "$given"/*; else set -- "$given"; fi
for keystore in "$@"; do
  keep "keystores/$(basename "$keystore")" "$service" < "$keystore"
done
keep passphrase "$service" < "$passphrase"
[ -s secrets/alert-webhook ] || rm -f secrets/alert-webhook
printf %s "$webhook" | keep alert-webhook "$alertmanager"
[ -s secrets/alert-webhook ] || echo "no alarm leaves this machine: write the URL of a webhook into $PWD/secrets/alert-webhook" >&2
if [ ! -e secrets/database-certificate ] || [ ! -e secrets/proxy-certificate ]; then
  openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj "/CN=gas-waiver authority" -keyout "$work/ca.key" -out "$work/ca.crt" 2>/dev/null
  certificate "$work/database" DNS:postgres,DNS:standby
  certificate "$work/proxy" "DNS:$name"
  keep database-ca "$service" < "$work/ca.crt"
  chmod 644 secrets/database-ca
  keep database-certificate "$postgres" < "$work/database.crt"
  keep database-key "$postgres" < "$work/database.key"
  cat "$work/proxy.crt" "$work/ca.crt" "$work/proxy.key" | keep proxy-certificate "$haproxy"
fi
chown "$service" secrets/keystores
chmod 711 secrets
