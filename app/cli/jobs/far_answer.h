// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/frame/arguments.h"
#include "app/cli/frame/output.h"
#include "core/base/job_context.h"
#include "core/far/far_host.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::cli {

/// The words of a command for another host, and what of it stays here.
struct FarWords {
    std::string host;
    std::vector<std::string> words; ///< without options that are about this process
    std::string report; ///< a file of this machine that the command writes; empty: none
};
/// Nothing where its paths are not all on one other host, or where it has files of this machine.
std::optional<FarWords> wordsThere(const Parsed& parsed);

/// Shows what another host answers. Its bytes cannot control the terminal.
class FarAnswerShown
{
public:
    /// `isWhole`: the answer is written by finish(), not as it arrives.
    FarAnswerShown(Output& output, const Arguments& arguments, bool isWhole);
    /// Gives the question its sinks, which refer to this object.
    void take(far::FarQuestion& question);
    /// Writes what is left of the answer. Damaged, and nothing is written, if JSON was asked for and it is
    /// none.
    Status finish();
    [[nodiscard]] const std::string& report() const { return m_report; }

private:
    Status takeData(std::string_view bytes);

    Output& m_output;
    JobContext::ProgressSink m_progress;
    bool m_isWhole;
    std::string m_report;
    std::string m_held; ///< an unended line, or the whole answer
};

/// Lets the host of a command's paths answer it: a command that only reads, whose checkpoints are all on one
/// other host. So no payload is sent here, and the answer is that of a command there: its paths are those of
/// the host. Writes the answer, a report that was asked for, and messages; the exit status is the command's.
///
/// Nothing where the command must run here, with the far files: it writes, it has checkpoints on several
/// hosts, or it needs files of this machine. Errors: those of far::FarHost::ask().
Result<std::optional<int>> answerThere(const Parsed& parsed, Output& output, JobContext& job);

} // namespace shardscope::cli
