// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/frame/command.h"

/// Options and arguments of several verbs, with their help texts.
namespace shardscope::cli {

/// --memory-limit.
Option memoryOption();

/// --json, --quiet, -v, --no-color, --progress, --log-file, --help.
std::vector<Option> outputOptions();
/// --copy, for verbs whose answer a page of the window shows.
Option copyOption();
/// --tag, --root: which tag, and where its files are.
std::vector<Option> tagOptions();
/// The same and --donor, for verbs that can read swap folders.
std::vector<Option> checkpointOptions();
/// --to, and those options of a reshard that do not depend on ranks. Those of other verbs: optionsOf().
std::vector<Option> convertOptions();
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
