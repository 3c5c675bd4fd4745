# The entrypoint of a Flux job's nodes: the first node starts Flux and runs the command on all of
# them, the others join it. `main_host`, `resources`, `flags` and `quoted` are set above this text
# (render/flux_scripts.py); the command is the first argument.
set -euo pipefail

base=/mnt/flux
view=$base/view
config=$base/config
system=$config/etc/flux/system
retry_seconds=15

# The view's links lead here.
cp -R "$base/software/." /opt/software/

# Behind the image's own PATH and PYTHONPATH: the user's Python stays the first one.
export PATH="$PATH:$view/bin"
python_root=$(find "$view/lib" -maxdepth 1 -type d -name 'python3.*' 2>/dev/null | head -n 1) || true
if [ -n "$python_root" ]; then
  python=$view/bin/$(basename "$python_root")
  if [ -x "$python" ]; then
    ln -sf "$python" "$view/bin/python3"
    ln -sf "$python" "$view/bin/python"
  fi
  export PYTHONPATH="${PYTHONPATH:+$PYTHONPATH:}$python_root/site-packages"
fi
export FLUX_RC_EXTRA=$view/etc/flux/rc1.d

# For whoever opens a shell in the pod.
cat >"$base/flux-view.sh" <<EOT
export PATH="$PATH"
export PYTHONPATH="${PYTHONPATH:-}"
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$view/lib"
export fluxsocket=local://$config/run/flux/local
EOT
cat >"$base/load-fluxion.sh" <<'EOT'
flux module remove sched-simple
flux module load sched-fluxion-resource
flux module load sched-fluxion-qmanager
EOT

# Flux refuses a certificate that others can read; the Secret's own file cannot be changed.
certificate=$config/etc/curve/curve.cert
cp -f /curve/curve.cert "$certificate"
chmod u=rw,go= "$certificate"

# shellcheck disable=SC2086  # several options
flux R encode --hosts="$(cat "$system/hostlist")" $resources >"$system/R"

state=$config/var/lib/flux
export STATE_DIR=$state
export FLUX_OUTPUT_DIR=/tmp/fluxout
mkdir -p "$state" "$FLUX_OUTPUT_DIR" "$system/cron.d"
broker=(
  "-Scron.directory=$system/cron.d"
  -Stbon.fanout=256
  "-Srundir=$config/run/flux"
  "-Sstatedir=$state"
  "-Slocal-uri=local://$config/run/flux/local"
  -Slog-stderr-level=0
  -Slog-stderr-mode=local
)
flux_config=$config/etc/flux/config

if [ "$quoted" = yes ]; then
  eval "command=(${1-})"
else
  # shellcheck disable=SC2048,SC2206  # words at blanks, as the reference has them
  command=($*)
fi

if [ "$(hostname)" != "$main_host" ]; then
  # The first node may not listen yet; it ends this broker when the command has ended.
  until flux start -o --config "$flux_config" "${broker[@]}"; do
    echo "the first node cannot be joined, next attempt in $retry_seconds seconds"
    sleep "$retry_seconds"
  done
elif [ "${#command[@]}" = 0 ]; then
  echo "no command: an interactive Flux instance"
  exec flux broker --config-path "$flux_config" "${broker[@]}"
else
  echo "flux run $flags ${command[*]}"
  # shellcheck disable=SC2086  # several options
  exec flux start -o --config "$flux_config" "${broker[@]}" flux run $flags "${command[@]}"
fi
