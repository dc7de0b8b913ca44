// SPDX-License-Identifier: Apache-2.0
#include "app/cli/progress.h"

#include "core/base/text.h"
#include "core/report/printable.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace shardscope::cli {

namespace {

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

std::string progressJson(const Progress& progress)
{
    return jsonText([&](JsonWriter& json) {
        json.beginObject();
        json.field("phase", progress.phase);
        json.field("bytes_done", progress.bytesDone);
        json.field("bytes_total", progress.bytesTotal);
        json.field("bytes_per_second", static_cast<uint64_t>(std::max(0.0, progress.bytesPerSecond)));
        if (progress.etaSeconds < 0)
            json.nullField("eta_seconds");
        else
            json.field("eta_seconds", progress.etaSeconds);
        json.endObject();
    }) + "\n";
}

std::string progressText(const Progress& progress)
{
    std::string out = printable(progress.phase);
    if (progress.bytesTotal > 0) {
        const double share
            = static_cast<double>(progress.bytesDone) / static_cast<double>(progress.bytesTotal);
        out += fmt::format("  {:.0f} %  {} of {}", std::min(share, 1.0) * 100,
            formatBytes(progress.bytesDone), formatBytes(progress.bytesTotal));
    } else if (progress.bytesDone > 0) {
        out += "  " + formatBytes(progress.bytesDone);
    }
    if (progress.bytesPerSecond > 0)
        out += fmt::format("  {}/s", formatBytes(static_cast<uint64_t>(progress.bytesPerSecond)));
    if (progress.etaSeconds >= 0)
        out += "  " + durationText(progress.etaSeconds) + " left";
    return out;
}

JobContext::ProgressSink progressSink(Output& output, const Arguments& arguments)
{
    const std::string mode = arguments.text("--progress");
    if (output.quiet() || mode == "none")
        return {};
    if (mode == "json")
        return [&output](const Progress& progress) { output.message(progressJson(progress)); };
    if (!output.errorIsTerminal())
        return {};
    return [&output](const Progress& progress) { output.progressLine(progressText(progress)); };
}

} // namespace shardscope::cli
