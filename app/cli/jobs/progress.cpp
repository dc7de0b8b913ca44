// SPDX-License-Identifier: Apache-2.0
#include "app/cli/jobs/progress.h"

#include "app/cli/frame/terminal.h"
#include "core/base/text.h"
#include "core/report/jobs/jobs_report.h"
#include "core/report/text/printable.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <unistd.h>

namespace shardscope::cli {

namespace {

constexpr size_t kDefaultColumns = 80;

std::string durationText(double seconds)
{
    const auto whole = static_cast<uint64_t>(std::ceil(std::min(seconds, 1e9)));
    if (whole < 60)
        return fmt::format("{} s", whole);
    if (whole < 3600)
        return fmt::format("{} min {} s", whole / 60, whole % 60);
    return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

} // namespace

std::string progressText(const Progress& progress, size_t columns)
{
    const std::string phase = printable(progress.phase);
    std::string share;
    std::string bytes;
    if (progress.bytesTotal > 0) {
        const double part
            = static_cast<double>(progress.bytesDone) / static_cast<double>(progress.bytesTotal);
        share = fmt::format("  {:.0f} %", std::min(part, 1.0) * 100);
        bytes = fmt::format("  {} of {}", formatBytes(std::min(progress.bytesDone, progress.bytesTotal)),
            formatBytes(progress.bytesTotal));
    } else if (progress.bytesDone > 0) {
        bytes = "  " + formatBytes(progress.bytesDone);
    }
    const std::string speed = progress.bytesPerSecond > 0
        ? fmt::format("  {}/s", formatBytes(static_cast<uint64_t>(progress.bytesPerSecond)))
        : std::string();
    const std::string left
        = progress.etaSeconds >= 0 ? "  " + durationText(progress.etaSeconds) + " left" : std::string();
    for (const std::string& line : {phase + share + bytes + speed + left, phase + share + bytes + left,
             phase + share + left, phase + share, share.empty() ? phase : share.substr(2)}) {
        if (displayWidth(line) <= columns)
            return line;
    }
    return {};
}

JobContext::ProgressSink progressSink(Output& output, const Arguments& arguments)
{
    if (auto taken = output.progressTaken())
        return taken;
    const std::string mode = arguments.text("--progress");
    if (output.quiet() || mode == "none")
        return {};
    if (mode == "json")
        return [&output](const Progress& progress) { output.message(progressJson(progress)); };
    if (!output.showsProgressLine())
        return {};
    return [&output](const Progress& progress) {
        // A line of the full width would wrap. The width can change, so it is read each time.
        const size_t columns = terminalColumns(STDERR_FILENO).value_or(kDefaultColumns);
        output.progressLine(progressText(progress, columns - 1));
    };
}

} // namespace shardscope::cli
