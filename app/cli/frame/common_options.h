// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/frame/command.h"

/// Options and arguments of several verbs, with their help texts.
namespace shardscope::cli {

/// --json, --quiet, -v, --no-color, --progress, --log-file, --help.
std::vector<Option> outputOptions();
/// --tag, --root: which tag, and where its files are.
std::vector<Option> tagOptions();
/// The same and --donor, for verbs that can read swap folders.
std::vector<Option> checkpointOptions();
/// Options that decide a reshard plan: --world-size, --stage, --tp, --pp, --ep, --sub-group-size, --tag-out,
/// --no-latest, --allow.
std::vector<Option> reshardOptions();
std::vector<Option> convertOptions();
/// Options that decide an export: --format, --dtype, --shard-size, --only, --strip-prefix, --rename,
/// --states,
/// --patterns, --allow.
std::vector<Option> exportOptions();
/// Options that decide how a plan is executed: --dry-run, --force, --no-verify, --jobs, --device,
/// --memory-limit, --restart.
Option mpiOption();
std::vector<Option> writeOptions();

/// --jobs, for verbs that read much data.
Option jobsOption();
/// --jobs, --device, --device-memory, for verbs that compute.
std::vector<Option> computeOptions();

Positional pathArgument();

std::vector<Option> joined(std::vector<Option> first, std::vector<Option> second);

} // namespace shardscope::cli
