// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/frame/command.h"

/// Options and arguments that several verbs share, so that they are spelled and explained once.
namespace shardscope::cli {

/// --json, --quiet, -v, --no-color, --progress, --log-file, --help.
std::vector<Option> outputOptions();
/// --tag, --root: which tag, and where its files lie.
std::vector<Option> tagOptions();
/// The same and --donor, of verbs that read what swap folders hold.
std::vector<Option> checkpointOptions();
/// What decides a reshard plan: --world-size, --stage, --tp, --pp, --ep, --sub-group-size, --tag-out,
/// --no-latest, --allow.
std::vector<Option> reshardOptions();
std::vector<Option> convertOptions();
/// What decides an export: --format, --dtype, --shard-size, --only, --strip-prefix, --rename, --states,
/// --patterns, --allow.
std::vector<Option> exportOptions();
/// How a plan is run: --dry-run, --force, --no-verify, --jobs, --device, --memory-limit, --restart.
std::vector<Option> writeOptions();

/// --jobs, of verbs that read much.
Option jobsOption();
/// --jobs, --device, --device-memory, of verbs with arithmetic.
std::vector<Option> computeOptions();

Positional pathArgument();

std::vector<Option> joined(std::vector<Option> first, std::vector<Option> second);

} // namespace shardscope::cli
