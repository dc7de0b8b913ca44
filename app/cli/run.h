// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room app/cli: the program `shardscope`, which parses one command line, runs its verb and reports its error;
// app/gui calls it for `--headless`. Start with run().

#include <string>
#include <vector>

namespace shardscope {
class JobContext;
}

namespace shardscope::cli {

struct OutputSinks;

/// Runs one command line of `shardscope` and returns its exit code.
/// `shardscope-gui --headless …` calls only this. It does not use Qt.
int run(int argc, char** argv);

/// Runs one command line without the program's name, with a JSON answer, in a process that does other things,
/// too; returns its exit code. Usage, as an answer, for commands and options that write. Thread-safe.
int answerWords(std::vector<std::string> words, const OutputSinks& sinks, JobContext& job);

} // namespace shardscope::cli
