// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/log_file.h"

#include "core/report/text/printable.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include <filesystem>

namespace shardscope::cli {

Result<JobContext::LogSink> openLogFile(const std::string& path)
{
    // Opening a FIFO without a reader would block forever. A missing file is created.
    std::error_code ignored;
    const auto status = std::filesystem::status(path, ignored);
    const bool isThere = std::filesystem::exists(status);
    if (isThere && !std::filesystem::is_regular_file(status))
        return fail(ErrorCode::WriteFailed,
            "the log file cannot be opened: it is a folder, FIFO, socket or device, not a regular file", path,
            "name another file with --log-file");
    // Lines are appended to what is there, so it must be certain what that is.
    if (!isThere && std::filesystem::is_symlink(std::filesystem::symlink_status(path, ignored)))
        return fail(ErrorCode::WriteFailed, "the log file cannot be opened: it is a broken link", path,
            "name another file with --log-file");
    if (isThere && std::filesystem::hard_link_count(path, ignored) > 1)
        return fail(ErrorCode::WriteFailed,
            "the log file cannot be opened: it has further names (hard links), which could be files of a "
            "checkpoint",
            path, "name another file with --log-file");
    try {
        auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
        auto logger = std::make_shared<spdlog::logger>("shardscope", std::move(sink));
        logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %v");
        logger->flush_on(spdlog::level::info);
        // A log that cannot be written (full disk) must not end the job. By default, spdlog would print to
        // standard error.
        logger->set_error_handler([](const std::string&) {});
        return JobContext::LogSink(
            [logger = std::move(logger)](std::string_view line) { logger->info("{}", printable(line)); });
    } catch (const spdlog::spdlog_ex& error) {
        return fail(
            ErrorCode::WriteFailed, std::string("the log file cannot be opened: ") + error.what(), path);
    }
}

} // namespace shardscope::cli
