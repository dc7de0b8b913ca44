// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/log_file.h"

#include "core/report/text/printable.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include <filesystem>

namespace shardscope::cli {

Result<JobContext::LogSink> openLogFile(const std::string& path)
{
    // Opening a FIFO without a reader would block for ever. A missing file is made.
    std::error_code ignored;
    const auto status = std::filesystem::status(path, ignored);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
        return fail(ErrorCode::WriteFailed,
            "the log file cannot be opened: it is a folder, FIFO, socket or device, and only a regular file "
            "can be the log",
            path, "name another file with --log-file");
    try {
        auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
        auto logger = std::make_shared<spdlog::logger>("shardscope", std::move(sink));
        logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %v");
        logger->flush_on(spdlog::level::info);
        // A full disk must not end a job that only logs; spdlog would print to standard error on its own.
        logger->set_error_handler([](const std::string&) {});
        return JobContext::LogSink(
            [logger = std::move(logger)](std::string_view line) { logger->info("{}", printable(line)); });
    } catch (const spdlog::spdlog_ex& error) {
        return fail(
            ErrorCode::WriteFailed, std::string("the log file cannot be opened: ") + error.what(), path);
    }
}

} // namespace shardscope::cli
