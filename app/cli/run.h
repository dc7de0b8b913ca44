// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room app/cli: the program `shardscope`, which parses one command line, runs its verb and reports its error;
// app/gui calls it for `--headless`. Start with run().

#include "core/base/result.h"

#include <string>
#include <vector>

namespace shardscope {
class JobContext;
namespace io {
class FileSystem;
}
} // namespace shardscope

namespace shardscope::cli {

struct OutputSinks;
struct Parsed;

/// Runs one command line of `shardscope` and returns its exit code.
/// `shardscope-gui --headless …` calls only this. It does not use Qt.
int run(int argc, char** argv);

/// Runs one command line without the program's name that only reads, in a process that does other things,
/// too; returns its exit code. With a JSON answer, or as text where the sinks take messages. Thread-safe.
int answerWords(
    const std::vector<std::string>& words, const OutputSinks& sinks, io::FileSystem& files, JobContext& job);
/// The same for words of a command that writes: starts it as a job of its own, and answers with it as `jobs`
/// does, or with the error, always as JSON; where the sinks take messages, the job's answer is text. Also for
/// `jobs` with options that change a job, which answers as answerWords() does.
int jobWords(
    const std::vector<std::string>& words, const OutputSinks& sinks, io::FileSystem& files, JobContext& job);
/// Usage for commands that write, and for options that let a command write or that belong to a whole process.
Status requireReading(const Parsed& parsed);

} // namespace shardscope::cli
