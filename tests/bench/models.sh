#!/bin/sh
# Latency, start-up and memory of every zoo model beside ONNX Runtime's, for 1 and 2 threads, in one run.
#   tests/bench/models.sh [options of models.py, such as --models resnet50 unet]
#   tests/bench/models.sh --compare OLD.json NEW.json
# Wants a release build in build/release, the zoo and the peer's timer in ../shared (or $TERROIR_SHARED_DIR), and for the
# peer's columns node and npm. Models and rows are kept under build/bench; every run saves its rows there.
set -eu
cd "$(dirname "$0")/../.."
case "${1:-}" in --compare) exec python3 tests/bench/models.py "$@" ;; esac

shared=${TERROIR_SHARED_DIR:-../shared}
keep=build/bench
zoo=${TERROIR_ZOO_DIR:-$keep/zoo}
mkdir -p "$keep"
ls "$zoo"/*-int8.xml >/dev/null 2>&1 || python3 "$shared/zoo/zoo.py" --all --int8 --out "$zoo"

peer=
if [ -z "${NODE_PATH:-}" ] && command -v npm >/dev/null; then
  [ -d "$keep/peer/node_modules/onnxruntime-node" ] ||
    npm install --silent --ignore-scripts --prefix "$keep/peer" onnxruntime-node@1.30.0
  export NODE_PATH="$PWD/$keep/peer/node_modules"
fi
if [ -n "${NODE_PATH:-}" ]; then
  peer="--ort $shared/peers/ort_bench.js"
else
  echo "no npm: the peer's columns stay empty"
fi
# shellcheck disable=SC2086  # $peer is two words or none
python3 tests/bench/models.py build/release/bin/benchmark_app "$zoo" $peer --threads 1 2 \
  --shared-lib build/release/libterroir.so --save "$keep/models-$(date +%Y%m%d-%H%M%S).json" "$@"
