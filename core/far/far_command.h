// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/far/far_host.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::far {

/// A command line that another host is asked to run.
struct FarCommand {
    std::string host;
    std::vector<std::string> words; ///< without the program's name and --json; paths are those of the host
    bool changesJobs = false; ///< ask::kJob: it starts a job there, or stops, resumes or forgets one
    bool isRaw = false; ///< ask::kRaw
    bool asText = false; ///< of a job that is started: its own answer is text
    std::function<void(std::string_view json)> progress = {}; ///< on another thread
    const JobContext* job = nullptr; ///< whose stop cancels it
    bool outlivesStop = false; ///< FarSettings::stop does not cancel it
    size_t limit = size_t{1} << 30U; ///< bytes of the answer
};

/// With the path of the home folder there in place of "~" where a word begins with "~/": no shell replaces
/// it.
Result<FarCommand> withoutHome(FarCommand command);

/// Its JSON, which can be anybody's text. Errors: those of FarHost::ask(); those of the command, with their
/// paths as paths of this host; LimitExceeded above `limit`.
/// An exit status that says what was found, such as that of `check`, is no error.
Result<std::string> answerOf(const FarCommand& command);

} // namespace shardscope::far
