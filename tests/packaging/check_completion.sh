#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The bash completion loads and completes a command.
set -eu
script=$("$1" completion bash)
bash -n <<<"$script"
set +eu
source /dev/stdin <<<"$script"
set -eu
spec=$(complete -p shardscope)
function_name=$(sed -n 's/.*-F \([^ ]*\).*/\1/p' <<<"$spec")
[ -n "$function_name" ] || { echo "no completion function: $spec"; exit 1; }
COMP_WORDS=("$1" res)
COMP_CWORD=1
COMP_LINE="shardscope res"
COMP_POINT=${#COMP_LINE}
COMPREPLY=()
"$function_name" shardscope res shardscope || true
[[ " ${COMPREPLY[*]} " == *" reshard"* ]] || { echo "res completes to: ${COMPREPLY[*]:-nothing}"; exit 1; }
