# The init container of a Flux job: copies Flux into the volume that the node mounts, and configures
# it. `hosts` and `broker_toml` are set above this text (render/flux_scripts.py).
set -euo pipefail

base=/mnt/flux
config=$base/config
views=/opt/views/._view
software=/opt/software

mkdir -p "$config/etc/flux/config" "$config/etc/flux/system/cron.d" "$config/etc/curve" \
  "$config/run/flux" "$config/var/lib/flux" "$base/view" "$base/software"

printf '%s\n' "$hosts" >"$config/etc/flux/system/hostlist"
printf '%s\n' "$broker_toml" >"$config/etc/flux/config/broker.toml"
echo "broker configuration:"
cat "$config/etc/flux/config/broker.toml"

# The view is one folder, named by its build; its links lead into the software folder.
echo "copying Flux from $views to $base"
for view in "$views"/*/; do
  cp -R "$view." "$base/view/"
done
cp -R "$software/." "$base/software/"
echo "Flux is ready"
