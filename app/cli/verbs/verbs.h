// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder app/cli/verbs: the verbs, each in its own file as a Command with its function; verbs include no
// other verb. Start with this list, then a short one: verb_inspect.cpp.

#include "app/cli/frame/command.h"

/// One function per verb, each in its own file. To add a verb, add a file, a line here and a line in
/// app/cli/program.cpp.
namespace shardscope::cli {

Command inspectCommand();
Command paramsCommand();
Command layoutCommand();
Command filesCommand();
Command showCommand();
Command statsCommand();
Command diffCommand();
Command verifyCommand();
Command checkCommand();
Command fingerprintCommand();
Command repairCommand();
Command reshardCommand();
Command convertCommand();
Command ensureCommand();
Command exportCommand();
Command planCommand();
Command runCommand();
Command emitCommand();
Command serveCommand(); ///< app/cli/serve
Command skeletonCommand();
Command cleanCommand();
Command jobsCommand(); ///< app/cli/jobs
Command tagsCommand();
Command completionCommand();
Command helpCommand();
/// What `diff` finds, as wireText() of core/compare/diff/judged_diff.h.
Result<std::string> comparedAsked(Session& session);
/// What `stats` finds, as wireText() of core/compare/digest/tensor_statistics.h.
Result<std::string> statisticsAsked(Session& session);
/// The schema of the answer of `completion`.
std::string completionSchema();

} // namespace shardscope::cli
